//! One of three servers fails in some way, all fail, or all are full: the effects on clients and servers, and the
//! reported ejections and rejections.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod circuit_breaker;
mod ejection_reports;
mod hedged;
mod interrupted_answers;
mod outlier;
mod requeued;
mod retry_budget;
mod streams;
mod wait_queue;

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use api::types::Report;
use lab::load::{LoadModel, LoadRun};
use tests::e2e::balancer::{TestBalancer, is_long, program};
use tests::e2e::client::HttpClient;
use tests::e2e::load;

fn rate() -> u64 {
    if is_long() { 1_000 } else { 100 }
}

/// GET requests at a fixed rate, until the load is stopped.
fn steady(front: SocketAddr) -> LoadRun {
    let mut plan = load::get_plan(front, "/", 64);
    plan.pace = LoadModel::Open { per_second: rate() as f64, connections: 256 };
    plan.timeout = Duration::from_secs(60);
    load::start(plan)
}

/// A counter of the pool `web`.
fn of_pool(report: &Report, name: &str) -> u64 {
    let pool = report.pools.iter().find(|pool| pool.name == "web").unwrap();
    pool.counts.iter().find(|it| it.name == name).map_or(0, |it| it.count.total)
}

/// The output of a command about this balancer.
fn steelyard(balancer: &TestBalancer, words: &[&str]) -> String {
    let mut command = Command::new(program());
    command.args(words).arg("--socket").arg(balancer.dir().join("sock"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The status and the cause of the next response.
fn refusal(client: &mut HttpClient) -> (u16, String) {
    let answer = client.read_answer();
    (answer.status(), answer.field("x-steelyard-cause").unwrap_or_default())
}
