//! Load on a balancer while a test changes its servers.
//!
//! The generator and its figures are in the crate `lab`.

use std::net::SocketAddr;
use std::time::Duration;

use lab::load::{HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadReport, LoadRun};

use super::wait::{self, DEADLINE};

/// GET of `target` over this many connections, one after another on each, until it is stopped.
pub fn get_plan(front: SocketAddr, target: &str, connections: usize) -> LoadPlan {
    plan(front, LoadProtocol::Http(HttpPlan::get("shop.example", target)), connections)
}

/// POST with identifiers from `first_id` on, so that an origin detects repeated requests.
pub fn post_plan(front: SocketAddr, connections: usize, first_id: u64) -> LoadPlan {
    let mut http = HttpPlan::get("shop.example", "/");
    http.post_percent = 100;
    http.first_id = Some(first_id);
    plan(front, LoadProtocol::Http(http), connections)
}

/// Messages of this size, which the server must echo.
pub fn echo_plan(front: SocketAddr, bytes: usize, connections: usize) -> LoadPlan {
    plan(front, LoadProtocol::Echo { bytes }, connections)
}

/// Adds a pause before each further request, and an end after this many requests.
pub fn paced(mut plan: LoadPlan, think: Duration, requests: u64) -> LoadPlan {
    plan.pace = LoadModel::Closed { connections: plan.connections(), think };
    plan.requests = Some(requests);
    plan
}

fn plan(front: SocketAddr, protocol: LoadProtocol, connections: usize) -> LoadPlan {
    let mut plan = LoadPlan::new(front, protocol, connections);
    plan.timeout = DEADLINE;
    plan.grace = DEADLINE;
    plan
}

pub fn start(plan: LoadPlan) -> LoadRun {
    LoadRun::start(plan).unwrap_or_else(|error| panic!("no load: {error}"))
}

/// Waits until this many more requests have been answered.
pub fn wait_for_answers(load: &LoadRun, answered: u64) {
    let wanted = load.report().answered + answered;
    wait::until(&format!("{answered} more answers"), || load.report().answered >= wanted);
}

/// Stops the load, waits for requests in flight, and returns its figures, which must add up.
pub fn stop(load: LoadRun) -> LoadReport {
    load.stopper().stop();
    let report = load.wait();
    assert_eq!((report.broken_threads, report.in_flight), (0, 0), "{report:?}");
    assert_eq!(report.requests, report.answered + report.failed, "{report:?}");
    report
}
