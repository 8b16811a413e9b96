//! Load on a balancer while a test does something to what is behind it.
//!
//! The generator and its figures are the lab's.

use std::net::SocketAddr;
use std::time::Duration;

use lab::load::{HttpPlan, Load, Pace, Plan, Protocol, Report};

use super::wait::{self, DEADLINE};

/// GET of `target` over so many connections, one after another on each, until it is told to stop.
pub fn gets(front: SocketAddr, target: &str, connections: usize) -> Plan {
    plan(front, Protocol::Http(HttpPlan::get("shop.example", target)), connections)
}

/// The same of POST with identifiers from `first_id` on, so that an origin can tell which came twice.
pub fn posts(front: SocketAddr, connections: usize, first_id: u64) -> Plan {
    let mut http = HttpPlan::get("shop.example", "/");
    (http.post_percent, http.first_id) = (100, Some(first_id));
    plan(front, Protocol::Http(http), connections)
}

/// Messages of so many bytes that must come back.
pub fn echoes(front: SocketAddr, bytes: usize, connections: usize) -> Plan {
    plan(front, Protocol::Echo { bytes }, connections)
}

/// With a pause before each further request, and an end after so many requests.
pub fn paced(mut plan: Plan, think: Duration, requests: u64) -> Plan {
    plan.pace = Pace::Closed { connections: plan.connections(), think };
    plan.requests = Some(requests);
    plan
}

fn plan(front: SocketAddr, protocol: Protocol, connections: usize) -> Plan {
    let mut plan = Plan::new(front, protocol, connections);
    (plan.timeout, plan.grace) = (DEADLINE, DEADLINE);
    plan
}

/// Starts it.
pub fn start(plan: Plan) -> Load {
    Load::start(plan).unwrap_or_else(|error| panic!("no load: {error}"))
}

/// Waits until so many more requests have been answered than now.
pub fn more(load: &Load, answered: u64) {
    let wanted = load.report().answered + answered;
    wait::until(&format!("{answered} more answers"), || load.report().answered >= wanted);
}

/// Stops it, waits for what is under way, and returns its figures, which add up.
pub fn stop(load: Load) -> Report {
    load.stopper().stop();
    let report = load.wait();
    assert_eq!((report.broken_threads, report.in_flight), (0, 0), "{report:?}");
    assert_eq!(report.requests, report.answered + report.failed, "{report:?}");
    report
}
