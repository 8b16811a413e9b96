//! Snapshots and counters in, ejections out: which pools are looked at, and the effect of an operator's command or a
//! health check.

use std::time::{Duration, SystemTime};

use model::monotonic_time::MonotonicTime;
use model::outlier_detection::OutlierAction;
use model::snapshot::{ServerState, ServerView};

use crate::health::adaptive_balancing::outlier_detector::PoolOutlierDetectors;
use crate::observability::report::fixture::{change, state_snapshot};
use crate::state::{HealthState, ServerEjection, StateSnapshot};

fn text(forward: &str, keys: &str) -> String {
    format!(
        "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"{forward}\"\npool = \"p\"\n[pool.p]\ninitial = \"up\"\n\
         servers = [\"10.0.0.1:1\", \"10.0.0.2:1\", \"10.0.0.3:1\"]\n{keys}\n"
    )
}

fn server(snapshot: &StateSnapshot, at: usize) -> &ServerView {
    &snapshot.snapshot.pools.values().next().unwrap().servers[at]
}

/// The first server fails, the others answer.
fn fails(snapshot: &StateSnapshot) {
    for at in 0..3 {
        let live = &server(snapshot, at).stats;
        if at == 0 {
            live.slots[0].counters.judged_bad.add(10);
            for _ in 0..10 {
                live.consecutive_failures.increment();
            }
        } else {
            live.slots[0].counters.judged_good.add(10);
        }
    }
}

fn look(
    dock: &mut PoolOutlierDetectors,
    snapshot: &StateSnapshot,
    millis: u64,
) -> Vec<OutlierAction> {
    dock.update(snapshot, MonotonicTime(millis * 1_000_000), || 0).orders
}

/// As the control actor does with an ejection.
fn put_out(snapshot: &mut StateSnapshot) {
    let name = server(snapshot, 0).config.name.clone();
    change(snapshot, &name, |facts| {
        facts.ejection =
            Some(ServerEjection { reason: "why".to_owned(), until: SystemTime::now() });
        facts.state = ServerState::Down;
    });
}

#[test]
fn only_pools_that_requests_are_proxied_to_are_looked_at() {
    for (forward, keys, looked_at) in
        [("http", "", 3), ("tcp", "", 0), ("http", "eject = \"off\"", 0)]
    {
        let snapshot = state_snapshot(&text(forward, keys), 1);
        let mut dock = PoolOutlierDetectors::default();
        look(&mut dock, &snapshot, 0);
        fails(&snapshot);
        let orders = look(&mut dock, &snapshot, 100);
        assert_eq!((dock.servers(), orders.len()), (looked_at, looked_at / 3), "{forward} {keys}");
    }
}

#[test]
fn what_is_put_out_comes_back_after_its_time() {
    let mut snapshot = state_snapshot(&text("http", ""), 1);
    let mut dock = PoolOutlierDetectors::default();
    look(&mut dock, &snapshot, 0);
    fails(&snapshot);
    let orders = look(&mut dock, &snapshot, 100);
    let [OutlierAction::Eject { id, time, .. }] = orders[..] else { panic!("{orders:?}") };
    assert_eq!((id, time), (server(&snapshot, 0).id, Duration::from_secs(5)));
    put_out(&mut snapshot);
    assert_eq!(look(&mut dock, &snapshot, 5_000), []);
    assert!(matches!(
        look(&mut dock, &snapshot, 5_200)[..],
        [OutlierAction::Readmit { needed: false, .. }]
    ));
}

#[test]
fn a_word_of_an_operator_or_a_probe_stands_above_it() {
    let mut snapshot = state_snapshot(&text("http", ""), 1);
    let mut dock = PoolOutlierDetectors::default();
    fails(&snapshot);
    look(&mut dock, &snapshot, 0);
    put_out(&mut snapshot);
    let name = server(&snapshot, 0).config.name.clone();
    // Its probe fails too: the server stays ejected, and is down after that.
    change(&mut snapshot, &name, |facts| facts.health_status.health = HealthState::Down);
    assert_eq!(look(&mut dock, &snapshot, 1_000), []);
    change(&mut snapshot, &name, |facts| facts.state = ServerState::Disabled);
    assert!(matches!(look(&mut dock, &snapshot, 1_100)[..], [OutlierAction::Readmit { .. }]));
}

#[test]
fn what_nobody_here_put_out_is_let_in() {
    for keys in ["", "eject = \"off\""] {
        let mut snapshot = state_snapshot(&text("http", keys), 1);
        put_out(&mut snapshot);
        let orders = look(&mut PoolOutlierDetectors::default(), &snapshot, 0);
        assert!(matches!(orders[..], [OutlierAction::Readmit { .. }]), "{keys}: {orders:?}");
    }
}
