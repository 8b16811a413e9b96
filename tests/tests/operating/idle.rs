//! A daemon without work sleeps: threads that have nothing to do are not woken, and the control's is seldom.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

/// A thread that is woken periodically is woken within this time.
const SILENCE: Duration = Duration::from_secs(1);
/// The most wake-ups a second of the control's thread.
const CONTROL_WAKEUPS: u64 = 5;

/// How often each thread of a process has waited for something, by name and number.
fn waits(pid: u32) -> BTreeMap<String, u64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let tasks = tasks.filter_map(|task| {
        let path = task.ok()?.path();
        let status = std::fs::read_to_string(path.join("status")).ok()?;
        let field = |key: &str| Some(status.lines().find_map(|l| l.strip_prefix(key))?.trim());
        let name = format!("{} {}", field("Name:")?, path.file_name()?.display());
        Some((name, field("voluntary_ctxt_switches:")?.parse().ok()?))
    });
    tasks.collect()
}

/// Waits until no thread but the control's has been woken for a while, and checks how often that one was.
fn expect_silence(pid: u32) {
    let control = format!("steelyard {pid}");
    let mut before = waits(pid);
    let mut since = Instant::now();
    wait::until("no thread is woken", || {
        let now = waits(pid);
        let mut others = now.keys().filter(|name| **name != control);
        if others.any(|name| before.get(name) != now.get(name)) {
            before = now;
            since = Instant::now();
            return false;
        }
        let span = since.elapsed();
        let woken = now[&control] - before[&control];
        span >= SILENCE && woken <= CONTROL_WAKEUPS * (span.as_secs() + 1)
    });
}

#[test]
fn threads_without_work_are_not_woken() {
    let origins = [origin("a"), origin("b")];
    let pool = "probe = \"off\"\ntimeout = { idle = \"1s\" }";
    let setup = BalancerConfig::http(&addresses(&origins)).pool(pool).quiet();
    let balancer = TestBalancer::start(&setup);
    let pid = balancer.process().pid();
    expect_silence(pid);
    // Work ends the sleep, is counted, and is followed by sleep.
    for requests in 1..=2 {
        let answer = balancer.client().get("/");
        assert_eq!(answer.status(), 200);
        let so = |report: &api::types::Report| {
            report.services[0].counts.requests.requests.total == requests
        };
        balancer.report_when("the request is counted", so);
        expect_silence(pid);
    }
}
