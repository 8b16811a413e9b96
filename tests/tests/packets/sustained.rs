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
/// The closing time that is measured with, seconds.
const FIN: u32 = 15;

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
    let words = Words { returns: 2, ..Words::new("nat", &[0]) };
    let words = words.packets("flows = 4096\n").service("fin-timeout = \"2s\"\n");
    let plane = Plane::open(&Layout { near: 1, ..Layout::default() }, words);
    // More than there are ports: of 4,096 records the two shares of a service and protocol have 1,024 at most.
    let load = relentless(&plane, 32);
    wait::until("more connections than there are ports", || load.report().answered >= 2_000);
    let report = ended(load);
    assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.told());
    wait::until("it is counted", || refused(&plane) > 0);
}

/// With every port there is, one server and two: what the ports allow goes on, or the machine can do no more.
#[test]
fn the_rate_that_the_ports_allow_goes_on() {
    if !is_long() || !ready() {
        return;
    }
    for servers in [1, 2] {
        let numbers: Vec<usize> = (0..servers).collect();
        let words = Words { returns: 2, ..Words::new("nat", &numbers) };
        let words = words.packets("flows = 1048576\n");
        let words = words.service(&format!("fin-timeout = \"{FIN}s\"\n"));
        let layout = Layout { near: servers as u8, ..Layout::default() };
        let plane = Plane::open(&layout, words);
        let load = relentless(&plane, 256 * servers);
        measure(&plane, &load, servers);
        let report = ended(load);
        assert_eq!(report.failed, 0, "{:?}\n{}", report.failed_by_cause, plane.told());
    }
}

/// Measures once every port has been used. Ports that are refused say that it is they, not the machine, that limit.
fn measure(plane: &Plane, load: &Load, servers: usize) {
    passes(Duration::from_secs(25));
    let (begun, before, refused_before) = (Instant::now(), load.report().answered, refused(plane));
    passes(Duration::from_secs(45));
    let rate = (load.report().answered - before) as f64 / begun.elapsed().as_secs_f64();
    let refused = refused(plane) - refused_before;
    let most = 2.0 * servers as f64 * PORTS / f64::from(FIN);
    let share = 100.0 * rate / most;
    figure(format!(
        "nat, two return addresses, {servers} servers, closing time {FIN} s, clients close first: {rate:.0} connections a \
         second go on, {share:.1} % of {most:.0}; packets refused for want of a port meanwhile: {refused}"
    ));
    assert!(refused == 0 || share >= 95.0, "the ports allow more: {share:.1} %");
}

/// What is measured goes on for so long.
fn passes(time: Duration) {
    let begun = Instant::now();
    while let Some(left) = time.checked_sub(begun.elapsed()) {
        std::thread::park_timeout(left);
    }
}
