//! Slow clients: each is closed at its limit and counted, and other clients do not notice.

use api::types::Report;
use lab::origin::TestOrigin;
use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{echo, origin};
use tests::e2e::wait;

/// The number of requests and connections that this cause ended.
fn ended_by(report: &Report, cause: &str) -> u64 {
    let causes = &report.total.causes;
    causes.iter().find(|count| count.cause == cause).map_or(0, |count| count.count.total)
}

/// Checks that other clients are served while slow clients hold their connections.
fn nobody_waits(balancer: &TestBalancer) {
    let mut client = balancer.client();
    for _ in 0..20 {
        assert_eq!(client.get("/").status(), 200);
    }
}

// Rows: Z04
#[test]
fn a_head_that_trickles_in_is_refused_at_its_time() {
    let origin = origin("a");
    let setup =
        BalancerConfig::http(&[origin.address()]).service("timeout = { header = \"400ms\" }");
    let balancer = TestBalancer::start(&setup);
    let mut slow: Vec<HttpClient> = (0..20).map(|_| balancer.client()).collect();
    for client in &slow {
        client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    }
    nobody_waits(&balancer);
    // A client that keeps sending gets no more time.
    let going_on = &slow[0];
    wait::until("an answer to the one that goes on", || {
        going_on.stream().set_nonblocking(true).unwrap();
        let answered = going_on.stream().peek(&mut [0]).is_ok();
        going_on.stream().set_nonblocking(false).unwrap();
        answered || going_on.try_send(b"x").is_err()
    });
    for client in &mut slow {
        let answer = client.read_answer();
        assert_eq!(answer.status(), 408);
        assert_eq!(answer.field("x-steelyard-cause").as_deref(), Some("client-header-timeout"));
    }
    drop(slow);
    assert_eq!(ended_by(&balancer.report_when_settled(), "client-header-timeout"), 20);
}

#[test]
fn a_client_that_says_nothing_is_closed_and_costs_no_request() {
    let origin = origin("a");
    let limits = "timeout = { header = \"300ms\", idle = \"300ms\" }";
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(limits));
    let mut silent = balancer.client();
    let mut idle = balancer.client();
    idle.get("/");
    assert_eq!((silent.read_to_end(), idle.read_to_end()), (Vec::new(), Vec::new()));
    let report = balancer.report_when_settled();
    assert_eq!(report.total.requests.requests.total, 1);
    let closed = report.total.limits.iter().find(|limit| limit.name == "idle-closed");
    assert_eq!(closed.map(|limit| limit.count.total), Some(2), "{:?}", report.total.limits);
}

#[test]
fn a_body_that_stops_is_cut_and_its_server_released() {
    let origin = origin("a");
    let setup = BalancerConfig::http(&[origin.address()])
        .service("timeout = { between-bytes = \"400ms\" }");
    let balancer = TestBalancer::start(&setup);
    let mut slow: Vec<HttpClient> = (0..10).map(|_| balancer.client()).collect();
    for client in &slow {
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nonly this");
    }
    nobody_waits(&balancer);
    for client in &mut slow {
        let answer = client.read_answer();
        assert_eq!(answer.status(), 408);
        assert_eq!(answer.field("x-steelyard-cause").as_deref(), Some("client-body-timeout"));
        assert!(client.read_to_end().is_empty());
    }
    drop(slow);
    let report = balancer.report_when_settled();
    assert_eq!(ended_by(&report, "client-body-timeout"), 10);
    assert_eq!(balancer.server("a").in_flight, 0);
}

#[test]
fn a_client_that_stops_reading_is_cut_and_its_server_released() {
    let origin = origin("a");
    let setup = BalancerConfig::http(&[origin.address()])
        .service("timeout = { between-bytes = \"400ms\" }");
    let balancer = TestBalancer::start(&setup);
    let clients: Vec<HttpClient> = (0..10).map(|_| balancer.client()).collect();
    for (at, client) in clients.iter().enumerate() {
        let path = if at % 2 == 0 { "bytes" } else { "chunked" };
        client.send(format!("GET /{path}/4000000000 HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    nobody_waits(&balancer);
    let cut = balancer.report_when("ten are cut", |r| ended_by(r, "client-read-timeout") == 10);
    assert_eq!(cut.total.requests.aborted.total, 10);
    wait::until("the server's side is closed", || balancer.server("a").in_flight == 0);
    for mut client in clients {
        assert!(client.read_to_end_or_reset().is_err(), "a cut must not look like an end");
    }
}

/// The number of clients that never read.
const STALLED: u64 = 200;
/// The limit of the daemon's memory per client, in bytes.
const STALLED_BYTES: u64 = 64 * 1024;

// Rows: C01
#[test]
fn clients_that_never_read_hold_little_of_our_memory() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).quiet());
    let bytes = |path: &'static str| {
        let ask = format!("GET /{path}/4000000000 HTTP/1.1\r\nHost: a\r\n\r\n");
        stalled(&balancer, &origin, ask.as_bytes(), path)
    };
    for path in ["bytes", "chunked"] {
        let each = bytes(path);
        assert!(each <= STALLED_BYTES, "/{path}: {each} bytes for each stalled client");
    }
}

#[test]
fn tcp_clients_that_never_read_hold_little_of_our_memory() {
    let server = echo("e");
    let balancer = TestBalancer::start(&BalancerConfig::tcp(&[server.address()]).quiet());
    let each = stalled(&balancer, &server, &vec![b'x'; 128 * 1024], "tcp");
    assert!(each <= STALLED_BYTES, "{each} bytes for each stalled connection");
}

/// The resident memory in bytes per stalled client. Eight earlier clients absorb the one-time costs.
fn stalled(balancer: &TestBalancer, server: &TestOrigin, ask: &[u8], what: &str) -> u64 {
    let open = |count: u64| -> Vec<HttpClient> {
        let under_way = balancer.report().total.requests.in_flight;
        let clients = (0..count).map(|_| balancer.client());
        let clients: Vec<HttpClient> = clients.inspect(|client| _ = client.send(ask)).collect();
        balancer.report_when("all under way", |report| {
            report.total.requests.in_flight == under_way + count
        });
        at_rest(balancer);
        clients
    };
    let first = open(8);
    let before = balancer.process().resident_bytes();
    let clients = open(STALLED);
    let after = balancer.process().resident_bytes();
    let each = after.saturating_sub(before) / STALLED;
    figure(format_args!(
        "{what}: {STALLED} clients that never read cost {each} bytes each of resident memory ({} KiB in all)",
        after / 1024
    ));
    wait::until("the server's side of each", || server.figures().open >= STALLED);
    drop((first, clients));
    balancer.report_when_settled();
    each
}

/// Waits until no more bytes are transferred.
fn at_rest(balancer: &TestBalancer) {
    let mut seen = (0, 0);
    let mut looks = 0;
    wait::until("every client stalled", || {
        let bytes = balancer.report().total.bytes;
        let now = (bytes.received.total, bytes.sent.total);
        looks = if now == seen { looks + 1 } else { 0 };
        seen = now;
        looks > 20
    });
}
