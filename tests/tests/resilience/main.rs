//! One of three servers is bad in some way, or all are: what clients see, what servers get, who is put out and told so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod half;
mod moved;
mod one_bad;
mod told;

use std::net::SocketAddr;
use std::time::Duration;

use api::types::Report;
use lab::load::{Load, Pace};
use tests::e2e::balancer::is_long;
use tests::e2e::load;

/// Requests a second.
fn rate() -> u64 {
    if is_long() { 1_000 } else { 100 }
}

/// GET at that rate by the clock, until it is stopped.
fn steady(front: SocketAddr) -> Load {
    let mut plan = load::gets(front, "/", 64);
    plan.pace = Pace::Open { per_second: rate() as f64, connections: 256 };
    plan.timeout = Duration::from_secs(60);
    load::start(plan)
}

/// A count of the pool `web`.
fn of_pool(report: &Report, name: &str) -> u64 {
    let pool = report.pools.iter().find(|pool| pool.name == "web").unwrap();
    pool.counts.iter().find(|it| it.name == name).map_or(0, |it| it.count.total)
}
