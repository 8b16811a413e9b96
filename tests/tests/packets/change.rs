//! The network and the pool change while clients are served.
//!
//! What survives must not fail at all; what cannot survive must be over soon.

use lab::load::{Persist, Report};
use lab::net::Layout;
use model::snapshot::ServerState;
use tests::e2e::plane::{BOTH, Plane, Version, ready};
use tests::e2e::steady::ended;
use tests::e2e::wait;
use tests::e2e::words::Words;

fn opened(forward: &'static str) -> Plane {
    Plane::open(&Layout { near: 2, ..Layout::default() }, Words::new(forward, &[0, 1]))
}

fn unharmed(report: &Report, plane: &Plane) {
    assert!(report.answered > 0, "{report:?}");
    assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.told());
}

/// Waits until each kind of load has got so much further.
fn goes_on(loads: &[&lab::load::Load], by: u64) {
    let aims: Vec<u64> = loads.iter().map(|load| load.report().answered + by).collect();
    wait::until("requests answered", || {
        loads.iter().zip(&aims).all(|(load, aim)| load.report().answered >= *aim)
    });
}

fn a_dead_server_is_left_and_taken_back(forward: &'static str) {
    let mut plane = opened(forward);
    plane.end(0);
    wait::until("server0 is left", || {
        let pools = plane.status().pools;
        pools.iter().all(|pool| {
            pool.servers
                .iter()
                .any(|server| server.name == "server0" && server.state == ServerState::Down)
        })
    });
    for version in BOTH {
        assert_eq!(plane.curl(version, 8), [("server1".to_owned(), 8)].into());
    }
    plane.revive(0);
    plane.all_up();
    for version in BOTH {
        assert_eq!(plane.curl(version, 8).len(), 2);
    }
}

#[test]
fn a_dead_server_is_left_and_taken_back_by_mac() {
    if ready() {
        a_dead_server_is_left_and_taken_back("mac");
    }
}

fn flows_of_a_removed_server_drain(forward: &'static str) {
    let mut plane = opened(forward);
    let kept = plane.load(Version::V4, Persist::KeepAlive, 8);
    goes_on(&[&kept], 20);
    plane.change(|words| words.servers = vec![1]);
    assert_eq!(plane.curl(Version::V4, 8), [("server1".to_owned(), 8)].into());
    goes_on(&[&kept], 200);
    unharmed(&ended(kept), &plane);
    // The next connection after its return is as good as the first.
    plane.change(|words| words.servers = vec![0, 1]);
    plane.all_up();
    assert_eq!(plane.curl(Version::V4, 8).len(), 2);
}

#[test]
fn flows_of_a_removed_server_drain_by_mac() {
    if ready() {
        flows_of_a_removed_server_drain("mac");
    }
}
