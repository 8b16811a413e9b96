//! One of three servers fails, hangs, resets, flaps, is slow or cuts its responses. After the first two seconds,
//! clients of idempotent requests hardly notice it. A server that cuts responses is ejected.

use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lab::origin::{OriginFault, TestOrigin};
use tests::e2e::balancer::{TestBalancer, figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::http::{ExpectedBody, HttpReader};
use tests::e2e::load;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use super::{rate, steady};

pub(super) const POOL: &str = "timeout = { first-byte = \"1s\", between-bytes = \"2s\" }\nretry = { on = [500, \"502-504\"], on-timeout = true }\n\
                    eject = { on = \"500-504\" }";

/// The duration of the fault in seconds.
fn seconds() -> u64 {
    if is_long() { 60 } else { 4 }
}

fn bad(what: &str, servers: &[SocketAddr], begin: impl FnOnce(), each_second: impl FnMut(u64)) {
    bad_in(what, &BalancerConfig::http(servers).pool(POOL).quiet(), begin, each_second);
}

/// Starts the load and then the fault. Measures from two seconds after the fault.
pub(super) fn bad_in(
    what: &str,
    setup: &BalancerConfig,
    begin: impl FnOnce(),
    mut each_second: impl FnMut(u64),
) {
    let balancer = TestBalancer::start(setup);
    let load = steady(balancer.front());
    // The 99th percentile of each second, so that a busy second of the machine affects only one of many values.
    let second = |p99s: &mut Vec<f64>| {
        let from = load.report();
        load::wait_for_answers(&load, rate());
        p99s.push(load.report().since(&from).latency.p99_us);
    };
    let mut before = Vec::new();
    let mut after = Vec::new();
    for _ in 0..if is_long() { seconds() } else { 1 } {
        second(&mut before);
    }
    begin();
    load::wait_for_answers(&load, 2 * rate());
    let from = load.report();
    for number in 0..seconds() {
        each_second(number);
        second(&mut after);
    }
    let all = load::stop(load);
    let seen = all.since(&from);
    let before = median(before);
    let after = median(after);
    figure(format_args!(
        "{what}: {} requests, {} failed after two seconds {:?}; p99 before {:.1} ms, then {:.1} ms",
        seen.requests,
        seen.failed,
        seen.failed_by_cause,
        before / 1e3,
        after / 1e3
    ));
    assert!(seen.failed * 1000 <= seen.requests.max(1000), "{what}: {seen:?}");
    // Below a millisecond the machine's noise exceeds the effect.
    assert!(!is_long() || after <= 1.5 * before.max(1_000.0), "{what}: {before} us, {after} us");
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn three() -> Vec<TestOrigin> {
    ["a", "b", "c"].map(origin).into()
}

fn with_fault(what: &str, fault: OriginFault) {
    let origins = three();
    bad(what, &addresses(&origins), || origins[0].set_fault(Some(fault)).unwrap(), |_| ());
}

#[test]
fn it_errs() {
    with_fault("errs", OriginFault::Status(500));
}

#[test]
fn it_accepts_and_says_nothing() {
    with_fault("hangs", OriginFault::Silence);
}

#[test]
fn it_resets() {
    with_fault("resets", OriginFault::ResetBeforeAnswer);
}

#[test]
fn it_flaps() {
    let origins = three();
    let flap = |second: u64| match second % 2 {
        0 => origins[0].revive().unwrap(),
        _ => origins[0].kill().unwrap(),
    };
    bad("flaps", &addresses(&origins), || origins[0].kill().unwrap(), flap);
}

#[test]
fn it_is_slow() {
    let origins = three();
    let slow = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(mut request)) = reader.head() {
            if reader.body(&mut request, ExpectedBody::AsDeclared).is_err() {
                return;
            }
            let begun = Instant::now();
            let time = Duration::from_millis(300);
            while begun.elapsed() < time {
                std::thread::park_timeout(time - begun.elapsed().min(time));
            }
            let said = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            if said.is_err() {
                return;
            }
        }
    });
    let servers = [slow.address(), origins[1].address(), origins[2].address()];
    bad("is slow", &servers, || (), |_| ());
}

#[test]
fn it_cuts_its_answers_and_is_put_out() {
    let origins = three();
    let pool = format!("{POOL}\nbalance = \"round-robin\"");
    let pool = pool.replace("eject = {", "eject = { base-time = \"1h\", max-time = \"1h\",");
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).pool(&pool).quiet());
    let load = steady(balancer.front());
    load::wait_for_answers(&load, rate());
    assert_eq!(load.report().failed, 0, "all good before");
    origins[0].set_fault(Some(OriginFault::CloseMidAnswer)).unwrap();
    let begun = Instant::now();
    wait::until("it is put out", || balancer.server("a").state.name() == "down");
    let took = begun.elapsed();
    let from = load.report();
    // Each wait has a separate deadline, because the long run exceeds a single one.
    (0..seconds()).for_each(|_| load::wait_for_answers(&load, rate()));
    let all = load::stop(load);
    let seen = all.since(&from);
    figure(format_args!(
        "cuts: put out after {took:?}; {} failed in all, {} of {} afterwards",
        all.failed, seen.failed, seen.requests
    ));
    // Requests in flight at the ejection may fail shortly after it.
    assert!(seen.failed <= 8 && all.failed > 0, "{all:?}");
    let reason = balancer.server("a").reason.text;
    assert!(reason.contains("truncated"), "{reason}");
    if is_long() {
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}
