//! Limits: a request beyond a limit is rejected with the cause, and succeeds again below the limit.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{echo, origin};
use tests::e2e::wait;

/// The status and the cause of the next response.
fn refusal(client: &mut HttpClient) -> (u16, String) {
    let answer = client.read_answer();
    (answer.status(), answer.field("x-steelyard-cause").unwrap_or_default())
}

#[test]
fn connections_beyond_the_limit_are_reported_and_room_is_given_back() {
    let origin = origin("a");
    let setup = BalancerConfig::http(&[origin.address()]).service("limit = { connections = 5 }");
    let balancer = TestBalancer::start(&setup);
    let mut inside: Vec<HttpClient> = (0..5).map(|_| balancer.client()).collect();
    for client in &mut inside {
        assert_eq!(client.get("/").status(), 200);
        client.send_get("/delay/600000");
    }
    wait::until("all are in use", || balancer.server("a").in_flight == 5);
    for _ in 0..3 {
        let mut outside = balancer.client();
        assert_eq!(refusal(&mut outside), (503, "connection-limit".into()));
        assert!(outside.read_to_end().is_empty(), "and closed");
    }
    inside.pop().unwrap().reset();
    wait::until("room for one more", || {
        let mut client = balancer.client();
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        client.answer_or_end().is_some_and(|answer| answer.status() == 200)
    });
    inside.into_iter().for_each(HttpClient::reset);
    let total = balancer.report_when_settled().total;
    assert!(total.connections.refused.total >= 3, "{total:?}");
    assert_eq!((total.requests.unaccounted, total.connections.unaccounted), (0, 0));
}

#[test]
fn tcp_connections_beyond_the_limit_are_reset() {
    let server = echo("e");
    let setup = BalancerConfig::tcp(&[server.address()]).service("limit = { connections = 2 }");
    let balancer = TestBalancer::start(&setup);
    let mut inside = [balancer.client(), balancer.client()];
    for client in &mut inside {
        client.send("here");
        assert_eq!(client.read_exactly(4), b"here");
    }
    let outside = HttpClient::try_connect(balancer.front())
        .and_then(|mut outside| outside.read_to_end_or_reset());
    assert!(outside.is_err(), "a refusal must not look like an end");
    balancer.report_when("counted", |report| report.total.connections.refused.total == 1);
}

#[test]
fn heads_beyond_their_limits_are_refused_and_closed() {
    let origin = origin("a");
    let limits = "limit = { header-bytes = \"2KiB\", header-count = 10, target-bytes = \"256B\" }";
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(limits));
    let fields =
        |count: usize| -> String { (0..count).map(|at| format!("X-{at}: 1\r\n")).collect() };
    let rows = [
        (format!("/{}", "a".repeat(255)), String::new(), 404, ""),
        (format!("/{}", "a".repeat(256)), String::new(), 414, "target-too-long"),
        ("/".to_owned(), fields(9), 200, ""),
        ("/".to_owned(), fields(10), 431, "head-too-large"),
        ("/".to_owned(), format!("X: {}\r\n", "y".repeat(1_900)), 200, ""),
        ("/".to_owned(), format!("X: {}\r\n", "y".repeat(2_100)), 431, "head-too-large"),
        // Longer than any buffer, and never finished.
        ("/".to_owned(), format!("X: {}\r\n", "y".repeat(500_000)), 431, "head-too-large"),
    ];
    for (target, fields, status, cause) in rows {
        let mut client = balancer.client();
        let head = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let _ = client.try_send(head.as_bytes());
        let length = head.len();
        let answer = refusal(&mut client);
        assert_eq!(answer, (status, cause.to_owned()), "a head of {length} bytes");
        if !cause.is_empty() {
            assert!(client.read_to_end().is_empty(), "closed after {cause}");
        }
    }
}

// Rows: C08, Z05
#[test]
fn a_server_at_its_cap_makes_others_wait_for_their_time_or_their_turn() {
    let origin = origin("a");
    let setup = BalancerConfig::http(&[origin.address()]);
    let setup =
        setup.pool("connections = 1\ntimeout = { queue = \"200ms\" }\nlimit = { queue = 1 }");
    let balancer = TestBalancer::start(&setup.global("workers = 1"));
    let busy = balancer.client();
    busy.send("GET /delay/600000 HTTP/1.1\r\nHost: a\r\n\r\n");
    wait::until("a busy server", || balancer.server("a").in_flight == 1);
    let mut waiting = balancer.client();
    assert_eq!(refusal(waiting.send_get("/")), (503, "queue-timeout".into()));
    // One request waits, so that the next finds the queue full.
    let mut two = [balancer.client(), balancer.client()];
    let mut causes: Vec<String> = Vec::new();
    for client in &mut two {
        client.send_get("/");
    }
    for client in &mut two {
        causes.push(refusal(client).1);
    }
    causes.sort();
    assert_eq!(causes, ["queue-full", "queue-timeout"]);
    busy.reset();
    wait::until("its turn comes", || waiting.get("/").status() == 200);
}
