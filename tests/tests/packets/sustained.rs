//! Ports of `nat` come around: each is used again when its closing time is over, and no connection fails meanwhile.
//!
//! The long variant measures how many connections a second go on and on with the clients closing first.

use std::time::{Duration, Instant};

use lab::load::{HttpPlan, Load, Pace, Persist, Plan, Protocol};
use lab::net::Layout;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::plane::{Plane, Version, ready};
use tests::e2e::steady::ended;
use tests::e2e::wait;
use tests::e2e::words::Words;

/// Ports of a return address towards a server and port.
const PORTS: f64 = 64_510.0;

/// Connections as fast as they are answered, closed by the client; one whose SYN is dropped sends it again.
fn relentless(plane: &Plane, connections: usize) -> Load {
    let target = Version::V4.service();
    let get = Protocol::Http(HttpPlan::get("shop.example", "/"));
    let plan = Plan {
        persist: Persist::PerRequest,
        pace: Pace::Closed { connections, think: Duration::ZERO },
        timeout: wait::DEADLINE,
        grace: wait::DEADLINE,
        ..Plan::new(target, get, connections)
    };
    plane.site.client.within(|| Load::start(plan)).unwrap().unwrap_or_else(|e| panic!("{e}"))
}

fn refused(plane: &Plane) -> u64 {
    let outcomes = plane.packets().outcomes;
    outcomes.iter().find(|one| one.name == "no-port").map_or(0, |one| one.count.total)
}

#[test]
fn ports_come_around_and_no_connection_fails() {
    if !ready() {
        return;
    }
    let (flows, fin) = if is_long() { (1_048_576, 15) } else { (4_096, 2) };
    let words = Words { returns: 2, ..Words::new("nat", &[0]) };
    let words = words.packets(&format!("flows = {flows}\n"));
    let words = words.service(&format!("fin-timeout = \"{fin}s\"\n"));
    let plane = Plane::open(&Layout { near: 1, ..Layout::default() }, words);
    // More than there are ports: of 4,096 records the two shares of a service and protocol have 1,024 at most.
    let least: u64 = if is_long() { 100_000 } else { 2_000 };
    let load = relentless(&plane, 32);
    wait::until("more connections than there are ports", || load.report().answered >= least);
    if is_long() {
        measure(&plane, &load, f64::from(fin));
    }
    let report = ended(load);
    assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.told());
    wait::until("it is counted", || is_long() || refused(&plane) > 0);
}

/// The rate that goes on, once every port has been used.
fn measure(plane: &Plane, load: &Load, fin: f64) {
    passes(Duration::from_secs(25));
    let (begun, before) = (Instant::now(), load.report().answered);
    passes(Duration::from_secs(45));
    let rate = (load.report().answered - before) as f64 / begun.elapsed().as_secs_f64();
    let most = 2.0 * PORTS / fin;
    figure(format!(
        "nat, two return addresses, one server, closing time {fin} s, clients close first: {rate:.0} connections a \
         second go on, {:.1} % of {most:.0}; packets refused for want of a port: {}",
        100.0 * rate / most,
        refused(plane)
    ));
}

/// What is measured goes on for so long.
fn passes(time: Duration) {
    let begun = Instant::now();
    while let Some(left) = time.checked_sub(begun.elapsed()) {
        std::thread::park_timeout(left);
    }
}
