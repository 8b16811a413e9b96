//! Snapshots and counts in, weights out: the weight controller, slow start, and both together.

use std::time::Duration;

use model::config::ServerWeight;
use model::monotonic_time::MonotonicTime;
use model::snapshot::{ServerState, ServerView};

use crate::health::adaptive_balancing::weight_controller::{
    ServerLoadSample, WeightChanges, WeightController,
};
use crate::observability::report::fixture::{change, state_snapshot};
use crate::state::{StateSnapshot, WeightShare, WeightShareChange};

const BASE: &str = "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"p\"\n[pool.p]\n\
    servers = [{ name = \"a\", address = \"10.0.0.1:1\" }, { name = \"b\", address = \"10.0.0.2:1\" }]\n";

fn at(millis: u64) -> MonotonicTime {
    MonotonicTime(millis * 1_000_000)
}

fn with(keys: &str) -> StateSnapshot {
    let mut snapshot = state_snapshot(&format!("{BASE}{keys}\n"), 1);
    for name in ["a", "b"] {
        set(&mut snapshot, name, ServerState::Up);
    }
    snapshot
}

fn set(snapshot: &mut StateSnapshot, name: &str, state: ServerState) {
    change(snapshot, name, |facts| facts.state = state);
}

/// Puts shares into the snapshot, as the control does.
fn take(snapshot: &mut StateSnapshot, looked: &WeightChanges) {
    for WeightShareChange { server, share } in &looked.shares {
        let name = snapshot.servers[server].config.name.clone();
        change(snapshot, &name, |facts| facts.share = *share);
    }
}

/// Runs one check and applies the result to the snapshot.
fn step(
    controller: &mut WeightController,
    snapshot: &mut StateSnapshot,
    now: MonotonicTime,
    seen: impl Fn(&ServerView) -> ServerLoadSample,
) {
    let looked = controller.update(snapshot, now, seen);
    take(snapshot, &looked);
}

fn weight(snapshot: &StateSnapshot, name: &str) -> u16 {
    snapshot.server("p", name).unwrap().active_weight().get()
}

fn idle(_: &ServerView) -> ServerLoadSample {
    ServerLoadSample::default()
}

#[test]
fn without_weight_controller_and_slow_start_weights_stand_and_nobody_looks() {
    let mut snapshot = with("");
    let mut controller = WeightController::default();
    assert!(controller.update(&snapshot, at(0), idle).shares.is_empty());
    assert_eq!(controller.wait(at(0), Duration::from_millis(250)), None);
    change(&mut snapshot, "a", |facts| {
        facts.share = Some(WeightShare {
            controller: Some(3),
            slow_start_percent: 100,
            weight: ServerWeight::ONE,
        });
    });
    let left = controller.update(&snapshot, at(1), idle).shares;
    assert_eq!(left.len(), 1, "what a judge that is gone left behind is taken back");
    assert_eq!(left[0].share, None);
}

#[test]
fn a_busy_server_loses_weight_at_the_interval_and_not_before() {
    let mut snapshot = with("dynamic-weights = {}");
    let mut controller = WeightController::default();
    let busy = |view: &ServerView| ServerLoadSample {
        active: if view.config.name == "a" { 30 } else { 2 },
        begun: 100,
        ..ServerLoadSample::default()
    };
    let first = controller.update(&snapshot, at(0), idle);
    assert_eq!(first.rows.len(), 2);
    take(&mut snapshot, &first);
    assert_eq!((weight(&snapshot, "a"), weight(&snapshot, "b")), (10, 10));
    for step in 1..8 {
        let looked = controller.update(&snapshot, at(step * 250), busy);
        assert!(looked.rows.is_empty() && looked.shares.is_empty(), "{looked:?}");
    }
    step(&mut controller, &mut snapshot, at(2000), busy);
    let a = weight(&snapshot, "a");
    let b = weight(&snapshot, "b");
    assert!(a < 10 && b > 10, "{a} {b}");
}

#[test]
fn an_operators_zero_stands() {
    let mut snapshot = with("dynamic-weights = {}\nslow-start = \"30s\"");
    let mut controller = WeightController::default();
    let zero = ServerWeight::new(0).unwrap();
    change(&mut snapshot, "a", |facts| facts.weight = zero);
    step(&mut controller, &mut snapshot, at(0), idle);
    assert_eq!(weight(&snapshot, "a"), 0);
}

#[test]
fn what_comes_back_ramps_and_what_begins_does_not() {
    let mut snapshot = with("slow-start = \"30s\"");
    set(&mut snapshot, "b", ServerState::Unknown);
    let mut controller = WeightController::default();
    assert!(controller.update(&snapshot, at(0), idle).shares.is_empty());
    set(&mut snapshot, "b", ServerState::Up);
    assert!(controller.update(&snapshot, at(10), idle).shares.is_empty(), "all begin at once");
    set(&mut snapshot, "b", ServerState::Down);
    controller.update(&snapshot, at(1000), idle);
    set(&mut snapshot, "b", ServerState::Up);
    step(&mut controller, &mut snapshot, at(2000), idle);
    assert_eq!((weight(&snapshot, "a"), weight(&snapshot, "b")), (100, 10));
    assert!(controller.wait(at(2000), Duration::from_secs(9)).is_some());
    step(&mut controller, &mut snapshot, at(17_000), idle);
    assert_eq!((weight(&snapshot, "a"), weight(&snapshot, "b")), (100, 55));
    step(&mut controller, &mut snapshot, at(32_000), idle);
    assert_eq!((weight(&snapshot, "a"), weight(&snapshot, "b")), (1, 1));
    assert_eq!(controller.wait(at(32_000), Duration::from_secs(9)), None);
}

#[test]
fn the_only_one_that_is_up_does_not_ramp() {
    let mut snapshot = with("slow-start = \"30s\"");
    let mut controller = WeightController::default();
    controller.update(&snapshot, at(0), idle);
    set(&mut snapshot, "a", ServerState::Down);
    set(&mut snapshot, "b", ServerState::Down);
    controller.update(&snapshot, at(1000), idle);
    set(&mut snapshot, "b", ServerState::Up);
    assert!(controller.update(&snapshot, at(2000), idle).shares.is_empty());
}

#[test]
fn a_judgement_of_the_process_before_goes_on() {
    let mut snapshot = with("dynamic-weights = {}");
    change(&mut snapshot, "a", |facts| {
        let weight = ServerWeight::new(6).unwrap();
        facts.share = Some(WeightShare { controller: Some(6), slow_start_percent: 100, weight });
    });
    let mut controller = WeightController::default();
    step(&mut controller, &mut snapshot, at(0), idle);
    assert!(weight(&snapshot, "a") < 10, "it climbs from where it was");
}
