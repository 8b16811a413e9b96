//! Timeouts, retries and buffering of one rule beside those of its pool and service, for HTTP/1, HTTP/2 and bytes.

use std::io::Write;
use std::net::SocketAddr;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::{ExpectedBody, HttpReader};
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::servers::{echo, origin, reserve_port};

/// Requests with the field `x-ruled` are taken by a rule with these settings.
fn setup(servers: &[SocketAddr], rule: &str, service: &str, pool: &str) -> BalancerConfig {
    let table = format!(
        "[[service.shop.rule]]\nname = \"ruled\"\nwhen = {{ header = \"x-ruled\" }}\n{rule}\n"
    );
    let service = format!("http2 = \"always\"\n{service}\n");
    let pool = format!("balance = \"round-robin\"\neject = \"off\"\n{pool}\n");
    BalancerConfig::http(servers)
        .global("workers = 1\n")
        .service(&service)
        .pool(&pool)
        .with_tables(&table)
}

/// The statuses of `count` requests for a path by HTTP/1, then by HTTP/2.
fn statuses(balancer: &TestBalancer, path: &str, ruled: bool, count: usize) -> Vec<u16> {
    let mut client = balancer.client();
    let field = if ruled { "x-ruled: 1\r\n" } else { "" };
    let mut all: Vec<u16> = (0..count)
        .map(|_| {
            client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{field}\r\n"));
            client.read_answer().status()
        })
        .collect();
    let fields = if ruled { vec![("x-ruled", "1".to_owned())] } else { Vec::new() };
    let request = H2Request { fields, ..H2Request::get(path) };
    all.extend((0..count).flat_map(|_| {
        let answers = send_all(balancer.front(), std::slice::from_ref(&request));
        answers.into_iter().map(|answer| answer.status)
    }));
    all
}

#[test]
fn a_rule_waits_longer_for_an_answer_than_its_pool_or_shorter() {
    let web = origin("web");
    let timeout = |time: &str| format!("timeout = {{ first-byte = \"{time}\" }}");
    let slow = setup(&[web.address()], &timeout("50s"), "", "timeout = { first-byte = \"200ms\" }");
    let balancer = TestBalancer::start(&slow);
    assert_eq!(statuses(&balancer, "/delay/800", true, 1), [200, 200]);
    assert_eq!(statuses(&balancer, "/delay/800", false, 1), [504, 504]);
    let url = balancer.url("/delay/800");
    let why = balancer.cli_output(&["explain", "request", "--url", &url, "--header", "x-ruled: 1"]);
    assert!(why.contains("with timeout.first-byte 50s"), "{why}");
    let fast = setup(&[web.address()], &timeout("200ms"), "", "timeout = { first-byte = \"50s\" }");
    let balancer = TestBalancer::start(&fast);
    assert_eq!(statuses(&balancer, "/delay/800", true, 1), [504, 504]);
    assert_eq!(statuses(&balancer, "/delay/800", false, 1), [200, 200]);
}

/// A server that reads a request and closes.
fn closing() -> ScriptedServer {
    ScriptedServer::start(|stream| {
        let _ = HttpReader::new(&stream).head();
    })
}

#[test]
fn a_rule_has_no_retries_beside_a_pool_that_has() {
    let failing = closing();
    let web = origin("web");
    let servers = [failing.address(), web.address()];
    let balancer = TestBalancer::start(&setup(&servers, "retries = 0", "", "retries = 2"));
    assert_eq!(statuses(&balancer, "/", false, 4), [200; 8]);
    assert!(statuses(&balancer, "/", true, 4).contains(&502));
    // A status is retried where the rule says so.
    let bad = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(_)) = reader.head() {
            let answer = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
            (&stream).write_all(answer).unwrap();
        }
    });
    let servers = [bad.address(), web.address()];
    let balancer = TestBalancer::start(&setup(&servers, "retry = { on = [503] }", "", ""));
    assert_eq!(statuses(&balancer, "/", true, 4), [200; 8]);
    assert!(statuses(&balancer, "/", false, 4).contains(&503));
}

#[test]
fn with_unsent_only_a_sent_request_is_not_sent_again_and_an_unsent_one_is() {
    let failing = closing();
    let web = origin("web");
    let only = "retry = { unsent-only = true }";
    let servers = [failing.address(), web.address()];
    for (rule, pool) in [(only, ""), ("retries = 2", only)] {
        let balancer = TestBalancer::start(&setup(&servers, rule, "", pool));
        assert!(statuses(&balancer, "/", true, 4).contains(&502), "{rule} {pool}");
    }
    let nobody = reserve_port();
    let servers = [nobody.address(), web.address()];
    let balancer = TestBalancer::start(&setup(&servers, only, "", ""));
    assert_eq!(statuses(&balancer, "/", true, 4), [200; 8]);
}

#[test]
fn a_rule_keeps_bodies_that_its_service_passes_on() {
    let web = origin("web");
    let rule = "buffer = { request = \"64KiB\", when-larger = \"refuse\" }";
    let balancer = TestBalancer::start(&setup(&[web.address()], rule, "", ""));
    let post = |ruled: bool, bytes: usize| {
        let body = vec![b'x'; bytes];
        let field = if ruled { "x-ruled: 1\r\n" } else { "" };
        let head =
            format!("POST /echo HTTP/1.1\r\nHost: a\r\n{field}Content-Length: {bytes}\r\n\r\n");
        let mut client = balancer.client();
        client.send(head);
        // The balancer may answer before it has the body.
        let _ = client.try_send(&body);
        let by_http1 = client.read_answer().status();
        let fields = if ruled { vec![("x-ruled", "1".to_owned())] } else { Vec::new() };
        let request = H2Request { fields, ..H2Request::post("/echo", &body) };
        [by_http1, send_all(balancer.front(), &[request])[0].status]
    };
    // More than arrives with a head, so that the rest is waited for.
    assert_eq!(post(true, 60_000), [200, 200]);
    assert_eq!(post(true, 100_000), [413, 413]);
    assert_eq!(post(false, 100_000), [200, 200]);
    let report = balancer.report_when_idle();
    let kept = report.total.bodies.iter().find(|one| one.name == "buffered-requests").unwrap();
    assert!(kept.count.total >= 2, "{}", kept.count.total);
}

#[test]
fn a_body_that_a_rule_keeps_is_sent_again_where_the_rule_retries() {
    let bad = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(mut request)) = reader.head() {
            reader.body(&mut request, ExpectedBody::AsDeclared).unwrap();
            let answer = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
            (&stream).write_all(answer).unwrap();
        }
    });
    let web = origin("web");
    let servers = [bad.address(), web.address()];
    // More than arrives with a head.
    let body = vec![b'x'; 60_000];
    let statuses = |balancer: &TestBalancer, method: &str, ruled: bool| -> Vec<u16> {
        let field = if ruled { "x-ruled: 1\r\n" } else { "" };
        let mut client = balancer.client();
        let by_http1 = (0..4).map(|_| {
            let length = body.len();
            client.send(format!(
                "{method} /echo HTTP/1.1\r\nHost: a\r\n{field}Content-Length: {length}\r\n\r\n"
            ));
            client.send(&body);
            let answer = client.read_answer();
            assert!(answer.status() != 200 || answer.body == body);
            answer.status()
        });
        by_http1.collect()
    };
    let kept = "retries = 1\nretry = { on = [503] }\nbuffer = { request = \"1MiB\" }\n";
    let balancer = TestBalancer::start(&setup(&servers, kept, "", "retries = 0"));
    assert_eq!(statuses(&balancer, "PUT", true), [200; 4]);
    assert!(statuses(&balancer, "PUT", false).contains(&503));
    // What may have an effect twice is not sent again.
    assert!(statuses(&balancer, "POST", true).contains(&503));
}

#[test]
fn silence_of_both_sides_and_the_queue_have_times_of_the_rule() {
    let stalling = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(_)) = reader.head() {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";
            (&stream).write_all(answer).unwrap();
        }
    });
    let times = "timeout = { between-bytes = \"200ms\", client-between-bytes = \"200ms\", queue = \"200ms\" }";
    let service = "timeout = { between-bytes = \"1h\" }";
    let pool = "timeout = { between-bytes = \"1h\", first-byte = \"1h\", queue = \"1h\" }";
    let balancer = TestBalancer::start(&setup(&[stalling.address()], times, service, pool));
    let mut client = balancer.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nx-ruled: 1\r\n\r\n");
    let answer = client.read_answer_head();
    assert_eq!(answer.status(), 200);
    assert!(client.read_body(answer).is_err(), "it is cut");
    let mut client = balancer.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nx-ruled: 1\r\nContent-Length: 9\r\n\r\nhel");
    // The server has answered by then, and the answer is cut.
    let answer = client.read_answer_head();
    assert!(answer.status() != 200 || client.read_body(answer).is_err());

    let web = origin("web");
    let pool = format!("{pool}\nconnections = 1");
    let balancer = TestBalancer::start(&setup(&[web.address()], times, service, &pool));
    let mut busy = balancer.client();
    busy.send_get("/delay/30000");
    balancer.report_when("the server is busy", |report| report.pools[0].servers[0].in_flight == 1);
    let mut client = balancer.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nx-ruled: 1\r\n\r\n");
    let answer = client.read_answer();
    assert_eq!(answer.field("x-steelyard-cause").as_deref(), Some("queue-timeout"));
}

// Rows: C05
#[test]
fn a_rule_ends_silent_tunnels_and_has_its_own_retries_for_bytes() {
    let server = echo("e");
    let nobody = reserve_port();
    let rule = "[[service.shop.rule]]\nwhen = { client = \"127.0.0.0/8\" }\n\
                timeout = { tunnel = \"300ms\" }\nretries = 0\n";
    let pool = "balance = \"round-robin\"\nretries = 2\n";
    let start = |rule: &str| {
        let servers = [nobody.address(), server.address()];
        let setup = BalancerConfig::tcp(&servers).global("workers = 1\n").pool(pool);
        TestBalancer::start(&setup.with_tables(rule))
    };
    let answered = |balancer: &TestBalancer| -> Vec<bool> {
        let tried = (0..4).map(|_| {
            // A connection that is refused may end before it is used.
            let Ok(mut client) = HttpClient::try_connect(balancer.front()) else { return false };
            let _ = client.try_send(b"hello");
            client.try_read_exactly(5).is_ok()
        });
        tried.collect()
    };
    assert_eq!(answered(&start("")), [true; 4]);
    let balancer = start(rule);
    let with_rule = answered(&balancer);
    assert!(with_rule.contains(&false) && with_rule.contains(&true), "{with_rule:?}");
    // The client says nothing and stays: the service itself would wait for an hour.
    let clients = (0..2).filter_map(|_| HttpClient::try_connect(balancer.front()).ok());
    let clients: Vec<_> =
        clients.inspect(|client| client.try_send(b"hello").unwrap_or_default()).collect();
    balancer.report_when("silent tunnels have ended", |report| {
        report.pools[0].servers.iter().all(|server| server.in_flight == 0)
            && report.pools[0].servers.iter().any(|server| server.connects.total > 2)
    });
    drop(clients);
}
