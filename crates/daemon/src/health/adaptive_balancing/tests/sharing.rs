//! Snapshots and counts in, weights out: the weight controller, slow start, and both together.

use std::time::Duration;

use model::config::ServerWeight;
use model::monotonic_time::MonotonicTime;
use model::snapshot::{ServerState, ServerView};

use crate::health::adaptive_balancing::weight_controller::{
    ServerLoadSample, WeightChanges, WeightController,
};
use crate::observability::report::fixture::{change, picture};
use crate::state::{StateSnapshot, WeightShare};

const BASE: &str = "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"p\"\n[pool.p]\n\
    servers = [{ name = \"a\", address = \"10.0.0.1:1\" }, { name = \"b\", address = \"10.0.0.2:1\" }]\n";

fn at(millis: u64) -> MonotonicTime {
    MonotonicTime(millis * 1_000_000)
}

fn with(keys: &str) -> StateSnapshot {
    let mut picture = picture(&format!("{BASE}{keys}\n"), 1);
    for name in ["a", "b"] {
        set(&mut picture, name, ServerState::Up);
    }
    picture
}

fn set(picture: &mut StateSnapshot, name: &str, state: ServerState) {
    change(picture, name, |facts| facts.state = state);
}

/// Puts shares into the snapshot, as the control does.
fn take(picture: &mut StateSnapshot, looked: &WeightChanges) {
    for (id, share) in &looked.shares {
        let name = picture.servers[id].config.name.clone();
        change(picture, &name, |facts| facts.share = *share);
    }
}

/// Looks, and puts what follows into the snapshot.
fn step(
    desk: &mut WeightController,
    picture: &mut StateSnapshot,
    now: MonotonicTime,
    seen: impl Fn(&ServerView) -> ServerLoadSample,
) {
    let looked = desk.update(picture, now, seen);
    take(picture, &looked);
}

fn weight(picture: &StateSnapshot, name: &str) -> u16 {
    picture.server("p", name).unwrap().active_weight().get()
}

fn idle(_: &ServerView) -> ServerLoadSample {
    ServerLoadSample::default()
}

#[test]
fn without_judge_and_slow_start_weights_stand_and_nobody_looks() {
    let mut picture = with("");
    let mut desk = WeightController::default();
    assert!(desk.update(&picture, at(0), idle).shares.is_empty());
    assert_eq!(desk.wait(at(0), Duration::from_millis(250)), None);
    change(&mut picture, "a", |facts| {
        facts.share = Some(WeightShare {
            controller: Some(3),
            slow_start_percent: 100,
            weight: ServerWeight::ONE,
        });
    });
    let left = desk.update(&picture, at(1), idle).shares;
    assert_eq!(left.len(), 1, "what a judge that is gone left behind is taken back");
    assert_eq!(left[0].1, None);
}

#[test]
fn a_busy_server_loses_weight_at_the_interval_and_not_before() {
    let mut picture = with("judge = {}");
    let mut desk = WeightController::default();
    let busy = |view: &ServerView| ServerLoadSample {
        active: if view.config.name == "a" { 30 } else { 2 },
        begun: 100,
        ..ServerLoadSample::default()
    };
    let first = desk.update(&picture, at(0), idle);
    assert_eq!(first.rows.len(), 2);
    take(&mut picture, &first);
    assert_eq!((weight(&picture, "a"), weight(&picture, "b")), (10, 10));
    for step in 1..8 {
        let looked = desk.update(&picture, at(step * 250), busy);
        assert!(looked.rows.is_empty() && looked.shares.is_empty(), "{looked:?}");
    }
    step(&mut desk, &mut picture, at(2000), busy);
    let a = weight(&picture, "a");
    let b = weight(&picture, "b");
    assert!(a < 10 && b > 10, "{a} {b}");
}

#[test]
fn an_operators_zero_stands() {
    let mut picture = with("judge = {}\nslow-start = \"30s\"");
    let mut desk = WeightController::default();
    let zero = ServerWeight::new(0).unwrap();
    change(&mut picture, "a", |facts| facts.weight = zero);
    step(&mut desk, &mut picture, at(0), idle);
    assert_eq!(weight(&picture, "a"), 0);
}

#[test]
fn what_comes_back_ramps_and_what_begins_does_not() {
    let mut picture = with("slow-start = \"30s\"");
    set(&mut picture, "b", ServerState::Unknown);
    let mut desk = WeightController::default();
    assert!(desk.update(&picture, at(0), idle).shares.is_empty());
    set(&mut picture, "b", ServerState::Up);
    assert!(desk.update(&picture, at(10), idle).shares.is_empty(), "all begin at once");
    set(&mut picture, "b", ServerState::Down);
    desk.update(&picture, at(1000), idle);
    set(&mut picture, "b", ServerState::Up);
    step(&mut desk, &mut picture, at(2000), idle);
    assert_eq!((weight(&picture, "a"), weight(&picture, "b")), (100, 10));
    assert!(desk.wait(at(2000), Duration::from_secs(9)).is_some());
    step(&mut desk, &mut picture, at(17_000), idle);
    assert_eq!((weight(&picture, "a"), weight(&picture, "b")), (100, 55));
    step(&mut desk, &mut picture, at(32_000), idle);
    assert_eq!((weight(&picture, "a"), weight(&picture, "b")), (1, 1));
    assert_eq!(desk.wait(at(32_000), Duration::from_secs(9)), None);
}

#[test]
fn the_only_one_that_is_up_does_not_ramp() {
    let mut picture = with("slow-start = \"30s\"");
    let mut desk = WeightController::default();
    desk.update(&picture, at(0), idle);
    set(&mut picture, "a", ServerState::Down);
    set(&mut picture, "b", ServerState::Down);
    desk.update(&picture, at(1000), idle);
    set(&mut picture, "b", ServerState::Up);
    assert!(desk.update(&picture, at(2000), idle).shares.is_empty());
}

#[test]
fn a_judgement_of_the_process_before_goes_on() {
    let mut picture = with("judge = {}");
    change(&mut picture, "a", |facts| {
        let weight = ServerWeight::new(6).unwrap();
        facts.share = Some(WeightShare { controller: Some(6), slow_start_percent: 100, weight });
    });
    let mut desk = WeightController::default();
    step(&mut desk, &mut picture, at(0), idle);
    assert!(weight(&picture, "a") < 10, "it climbs from where it was");
}
