//! Servers that die, misbehave, close connections at any time, or have no address: the effect on clients, and the
//! recovery.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod faults;
mod idle;
mod killed;
mod names;
mod outage;

use api::types::{Report, ServerReport};

/// The number of requests that this cause ended.
fn ended_by(report: &Report, cause: &str) -> u64 {
    let causes = &report.total.causes;
    causes.iter().find(|count| count.cause == cause).map_or(0, |count| count.count.total)
}

/// A server of the pool `web`.
fn server<'r>(report: &'r Report, name: &str) -> &'r ServerReport {
    let pool = report.pools.iter().find(|pool| pool.name == "web");
    pool.and_then(|pool| pool.servers.iter().find(|server| server.name == name)).unwrap()
}

/// The number of all failures at a server.
fn wrong_at(report: &Report, name: &str) -> u64 {
    server(report, name).causes.iter().map(|cause| cause.count.total).sum()
}
