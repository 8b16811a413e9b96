//! The plane outlives its daemon: reloads, restarts, kills and stops under load, with no connection lost.
//!
//! `stop` removes every trace, `stop --detach` leaves the plane at work.

use lab::load::{Load, Persist};
use lab::net::Layout;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::plane::{Plane, Version, ready};
use tests::e2e::steady::ended;
use tests::e2e::wait;
use tests::e2e::words::Words;

fn goes_on(loads: &[Load]) {
    let aims: Vec<u64> = loads.iter().map(|load| load.report().answered + 30).collect();
    wait::until("requests answered", || {
        loads.iter().zip(&aims).all(|(load, aim)| load.report().answered >= *aim)
    });
}

/// Whatever happens to the daemon, clients notice nothing.
fn nobody_notices(forward: &'static str) {
    let layout = Layout { near: 2, ..Layout::default() };
    let mut plane = Plane::open(&layout, Words::new(forward, &[0, 1]));
    let loads = [
        plane.load(Version::V4, Persist::KeepAlive, 8),
        plane.load(Version::V4, Persist::PerRequest, 2),
        plane.load(Version::V6, Persist::PerRequest, 2),
    ];
    goes_on(&loads);
    let rounds = if is_long() { 60 } else { 1 };
    for round in 0..rounds {
        for step in 0..3 {
            let time = 300 + 3 * round + step;
            plane.change(|words| words.service = format!("stale-timeout = \"{time}s\"\n"));
            goes_on(&loads);
        }
        plane.kill9();
        goes_on(&loads);
        plane.start();
        goes_on(&loads);
        plane.stop(&["--detach"]);
        goes_on(&loads);
        plane.start();
        plane.all_up();
        goes_on(&loads);
    }
    let answered: u64 = loads.iter().map(|load| load.report().answered).sum();
    for load in loads {
        let report = ended(load);
        assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.told());
    }
    figure(format!(
        "{forward}: {} reloads, {rounds} kills and {rounds} detached stops under load, {answered} requests, 0 failed",
        3 * rounds
    ));
    plane.stop(&[]);
    no_trace(&plane);
}

/// No pin, and no program on the link.
fn no_trace(plane: &Plane) {
    let left = |dir: &std::path::Path| match std::fs::read_dir(dir) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>(),
        Err(_) => Vec::new(),
    };
    assert_eq!(left(&plane.pins().join("plane")), Vec::<std::path::PathBuf>::new());
    wait::until("no program on the link", || {
        let link = plane.site.balancer.ip("-d link show eth0\n");
        let link = link.unwrap_or_else(|_| plane.site.balancer.ip("link show eth0\n").unwrap());
        !link.contains("xdp")
    });
}

#[test]
fn nobody_notices_what_happens_to_the_daemon_of_mac() {
    if ready() {
        nobody_notices("mac");
    }
}
