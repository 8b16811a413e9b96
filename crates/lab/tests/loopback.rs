//! Load against origins over loopback: every failure has its cause, and the counts are complete.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lab::load::{
    ConnectionReuse, FailureCause, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadReport,
    LoadRun, ReadSpeed,
};
use lab::origin::{OriginFault, OriginKind, OriginOptions, RequestIdLog, TestOrigin};

fn http(name: &str) -> TestOrigin {
    TestOrigin::start(OriginOptions::new(name, OriginKind::Http { body: 128 })).unwrap()
}

fn plan(origin: &TestOrigin, target: &str) -> LoadPlan {
    let mut plan =
        LoadPlan::new(origin.address(), LoadProtocol::Http(HttpPlan::get("lab", target)), 8);
    plan.timeout = Duration::from_secs(20);
    plan.grace = Duration::from_secs(20);
    plan.requests = Some(400);
    plan
}

fn run(plan: LoadPlan) -> LoadReport {
    let report = LoadRun::start(plan).unwrap().wait();
    adds_up(&report);
    assert_eq!((report.in_flight, report.broken_threads), (0, 0));
    report
}

fn adds_up(report: &LoadReport) {
    assert_eq!(report.requests, report.answered + report.failed + report.in_flight);
    assert_eq!(report.failed, report.failed_by_cause.values().sum::<u64>());
}

/// Polls until `condition`, for at most a minute.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn every_request_of_every_kind_is_answered() {
    let origin = http("a");
    for target in ["/", "/bytes/100000", "/chunked/50000", "/delay/1", "/healthz", "/status/404"] {
        let report = run(plan(&origin, target));
        assert_eq!((report.answered, report.failed), (400, 0), "{target}: {report:?}");
        assert_eq!(report.connects, 8, "{target}");
    }
    let mut single = plan(&origin, "/bytes/100");
    single.persist = ConnectionReuse::PerRequest;
    single.threads = 3;
    let report = run(single);
    assert_eq!((report.answered, report.connects), (400, 400));
    assert!(report.bytes_in > 400 * 100);
}

#[test]
fn echoes_come_back_unchanged() {
    let origin = TestOrigin::start(OriginOptions::new("e", OriginKind::Echo)).unwrap();
    for bytes in [8, 128, 1 << 20] {
        let mut plan = plan(&origin, "/");
        plan.protocol = LoadProtocol::Echo { bytes };
        plan.requests = Some(40);
        let report = run(plan);
        assert_eq!((report.answered, report.failed), (40, 0), "{report:?}");
        assert_eq!(report.bytes_in, 40 * bytes as u64);
    }
}

#[test]
fn every_fault_has_its_cause() {
    let rows = [
        (OriginFault::Status(500), FailureCause::ServerError),
        (OriginFault::Garbage, FailureCause::BadAnswer),
        (OriginFault::CloseBeforeAnswer, FailureCause::ClosedBeforeAnswer),
        (OriginFault::CloseMidAnswer, FailureCause::ClosedMidAnswer),
        (OriginFault::ResetBeforeAnswer, FailureCause::ResetBeforeAnswer),
        (OriginFault::ResetMidAnswer, FailureCause::ResetMidAnswer),
        (OriginFault::Silence, FailureCause::Timeout),
    ];
    let origin = http("a");
    for (fault, fail) in rows {
        origin.set_fault(Some(fault)).unwrap();
        let mut plan = plan(&origin, "/");
        plan.requests = Some(16);
        if fault == OriginFault::Silence {
            plan.timeout = Duration::from_millis(50);
        }
        let report = run(plan);
        assert_eq!(report.count(fail), 16, "{fault:?}: {report:?}");
        assert_eq!(report.failed, 16);
    }
    origin.set_fault(None).unwrap();
    assert_eq!(run(plan(&origin, "/")).failed, 0, "it recovers");
}

#[test]
fn a_hung_origin_times_out_and_recovers() {
    let origin = http("a");
    origin.set_hung(true).unwrap();
    let mut hanging = plan(&origin, "/");
    hanging.requests = Some(8);
    hanging.timeout = Duration::from_millis(50);
    assert_eq!(run(hanging).count(FailureCause::Timeout), 8);
    origin.set_hung(false).unwrap();
    assert_eq!(run(plan(&origin, "/")).answered, 400);
}

#[test]
fn killed_in_mid_run_and_revived_on_the_same_port() {
    let origin = http("a");
    let mut plan = plan(&origin, "/");
    plan.requests = None;
    let load = LoadRun::start(plan).unwrap();
    until("answers", || load.report().answered > 100);
    origin.kill().unwrap();
    until("refusals", || load.report().count(FailureCause::Refused) > 3);
    origin.revive().unwrap();
    let before = load.report();
    until("answers again", || load.report().answered > before.answered + 100);
    adds_up(&load.report());
    load.stopper().stop();
    let report = load.wait();
    adds_up(&report);
    let causes: BTreeMap<&str, u64> = report.failed_by_cause.clone();
    let resets = report.count(FailureCause::ResetBeforeAnswer)
        + report.count(FailureCause::ClosedBeforeAnswer);
    assert_eq!(report.failed, resets + report.count(FailureCause::Refused), "{causes:?}");
    assert_eq!(resets, report.failed_on_reused);
    assert!(resets <= 8, "at most what was in flight: {causes:?}");
}

#[test]
fn idle_connections_are_closed_and_that_fails_nothing() {
    let origin = http("a");
    origin.set_idle_close(Some(Duration::from_millis(10))).unwrap();
    let mut plan = plan(&origin, "/");
    plan.pace = LoadModel::Closed { connections: 4, think: Duration::from_millis(60) };
    plan.requests = Some(12);
    let report = run(plan);
    assert_eq!((report.answered, report.failed), (12, 0), "{report:?}");
    assert!(report.idle_ended >= 4 && report.connects > 4, "{report:?}");
    until("closing", || origin.figures().open == 0);
}

#[test]
fn duplicates_are_seen_across_origins() {
    let seen = Arc::new(RequestIdLog::default());
    let origins: Vec<TestOrigin> = ["a", "b"]
        .map(|name| {
            let mut options = OriginOptions::new(name, OriginKind::Http { body: 8 });
            options.request_log = seen.clone();
            TestOrigin::start(options).unwrap()
        })
        .into();
    for origin in &origins {
        let mut plan = plan(origin, "/");
        let mut http = HttpPlan::get("lab", "/");
        http.post_percent = 25;
        http.first_id = Some(1_000);
        plan.protocol = LoadProtocol::Http(http);
        assert_eq!(run(plan).answered, 400);
    }
    let arrivals = seen.arrivals();
    assert_eq!(arrivals.distinct, 400);
    assert_eq!((arrivals.duplicated_posts, arrivals.duplicated_others), (100, 300));
}

// Rows: L15
#[test]
fn open_loop_keeps_its_rate_and_counts_a_stall() {
    let origin = http("a");
    let mut plan = plan(&origin, "/");
    plan.pace = LoadModel::Open { per_second: 500.0, connections: 4 };
    plan.requests = None;
    let load = LoadRun::start(plan).unwrap();
    until("answers", || load.report().answered > 20);
    origin.set_hung(true).unwrap();
    let hung = load.report();
    until("asking in spite of the stall", || load.report().requests > hung.requests + 100);
    origin.set_hung(false).unwrap();
    load.stopper().stop();
    let report = load.wait();
    adds_up(&report);
    assert_eq!((report.failed, report.in_flight), (0, 0), "{report:?}");
    // 100 starts at 500 a second fell into the stall; the first of them waited for all of it.
    assert!(report.latency.max_us > 150_000.0, "{:?}", report.latency);
}

#[test]
fn a_reader_that_stalls_leaves_the_answer_in_flight() {
    let origin = http("a");
    let mut plan = plan(&origin, "/bytes/50000000");
    plan.reading = ReadSpeed::Slow { bytes: 0, pause: Duration::from_secs(1) };
    plan.grace = Duration::ZERO;
    let load = LoadRun::start(plan).unwrap();
    until("requests", || load.report().in_flight == 8 && origin.figures().requests == 8);
    load.stopper().stop();
    let report = load.wait();
    adds_up(&report);
    assert_eq!((report.in_flight, report.bytes_in), (8, 0));
}

#[test]
fn refused_is_named_and_a_taken_port_is_an_error() {
    let origin = http("a");
    origin.kill().unwrap();
    let mut refused = plan(&origin, "/");
    refused.requests = Some(16);
    assert_eq!(run(refused).count(FailureCause::Refused), 16);
    assert_eq!(
        TcpListener::bind(origin.address()).unwrap_err().kind(),
        ErrorKind::AddrInUse,
        "the port stays reserved"
    );
    let mut options = OriginOptions::new("b", OriginKind::Echo);
    options.listen = http("c").address();
    let holder = TcpListener::bind(options.listen).unwrap();
    assert!(TestOrigin::start(options).is_err());
    drop(holder);
}

#[test]
fn a_websocket_is_echoed() {
    let origin = http("a");
    let mut socket = TcpStream::connect(origin.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let fields =
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    write!(socket, "GET /ws HTTP/1.1\r\nHost: h\r\nSec-WebSocket-Version: 13\r\n{fields}\r\n\r\n")
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "));
    socket.write_all(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i']).unwrap();
    let mut frame = [0; 4];
    socket.read_exact(&mut frame).unwrap();
    assert_eq!(&frame, &[0x81, 2, b'h', b'i']);
}
