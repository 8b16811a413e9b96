//! Request buffering: a slow client occupies no server, a buffered request can be retried, and buffers are limited.

use std::io::Write;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::http::{HttpReader, ReceivedMessage, noise};
use tests::e2e::recording_server::{RecordingServer, ScriptedServer};
use tests::e2e::servers::origin;
use tests::e2e::tools::{curl, curl_text};
use tests::e2e::wait;

fn setup(recorder: &RecordingServer, buffer: &str) -> BalancerConfig {
    let service = format!("http2 = \"always\"\nbuffer = {{ {buffer} }}\n");
    BalancerConfig::http(&[recorder.address()]).global("workers = 1").service(&service)
}

fn put(length: usize, fields: &str) -> String {
    format!("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n{fields}\r\n")
}

fn count(balancer: &TestBalancer, name: &str) -> u64 {
    let report = balancer.report_when_idle();
    let found = report.total.bodies.iter().find(|one| one.name == name);
    found.map_or(0, |one| one.count.total)
}

#[test]
fn no_server_is_taken_before_the_body_is_whole() {
    let recorder = RecordingServer::start();
    let balancer = TestBalancer::start(&setup(&recorder, "request = \"1MiB\""));
    let body = noise(300_000);
    let mut client = balancer.client();
    client.send(put(body.len(), "Expect: 100-continue\r\n"));
    assert_eq!(client.read_answer().status(), 100, "told by us");
    client.send(&body[..200_000]);
    // Meanwhile a second client is answered, and no byte of the first request has reached the server.
    assert_eq!(balancer.client().get("/").status(), 200);
    assert_eq!(recorder.so_far().requests.len(), 1);
    // The bytes after the body are the next request.
    client.send([&body[200_000..], b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n"].concat());
    assert_eq!((client.read_answer().status(), client.read_answer().status()), (200, 200));
    let got = recorder.so_far().requests;
    let first = got.iter().find(|request| request.start.starts_with("PUT")).unwrap();
    assert!(first.body == body && first.field("expect").is_none(), "{:?}", first.fields);
    assert!(got.iter().any(|request| request.start.starts_with("GET /next")));
    drop(client);
    // The request uses chunked encoding, HTTP/2 or HTTP/1.0.
    let data = format!("@{}", balancer.dir().write("data", &body).display());
    let ways = [&["-H", "Transfer-Encoding: chunked"][..], &["--http2-prior-knowledge"], &["-0"]];
    for (at, how) in ways.into_iter().enumerate() {
        let url = balancer.url(&format!("/y{at}"));
        let tail =
            ["-H", "Expect:", "-X", "PUT", "--data-binary", &data, "-w", "%{http_code}", &url];
        let said = curl_text(&[how, &tail].concat());
        assert!(said.ends_with("200"), "{how:?}: {said}");
        let start = format!("PUT /y{at} ");
        let is_it =
            |request: &ReceivedMessage| request.start.starts_with(&start) && request.body == body;
        assert!(recorder.so_far().requests.iter().any(is_it), "{how:?}");
    }
    assert_eq!(count(&balancer, "buffered-requests"), 4);
}

#[test]
fn a_kept_request_goes_to_another_server_where_the_first_one_fails() {
    let failing = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        // Reads the head and a part of the body, and then closes.
        let _ = reader.head();
        let _ = reader.read_exactly(100_000);
    });
    let recorder = RecordingServer::start();
    let body = noise(500_000);
    for (buffer, works) in [("request = \"1MiB\"", true), ("request = \"off\"", false)] {
        let service = format!("buffer = {{ {buffer} }}\n");
        let setup =
            BalancerConfig::http(&[failing.address(), recorder.address()]).service(&service);
        let setup =
            setup.pool("balance = \"round-robin\"\neject = \"off\"\n").global("workers = 1");
        let balancer = TestBalancer::start(&setup);
        let statuses: Vec<u16> = (0..4)
            .map(|_| {
                let mut client = balancer.client();
                client.send(put(body.len(), ""));
                let _ = client.try_send(&body);
                client.answer_or_end().map_or(0, |answer| answer.status())
            })
            .collect();
        let all = statuses.iter().all(|status| *status == 200);
        assert_eq!(all, works, "{buffer}: {statuses:?}");
    }
    let whole = recorder.so_far().requests;
    assert!(whole.iter().all(|request| request.body == body));
}

#[test]
fn longer_bodies_are_refused_or_go_on_as_was_said() {
    let recorder = RecordingServer::start();
    let body = noise(200_000);
    let chunked = "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let coded = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    let rows = [
        (
            "request = \"100KiB\", when-larger = \"refuse\"",
            413,
            Some("body-too-large"),
            "buffer-beyond",
        ),
        ("request = \"100KiB\"", 200, None, "buffer-beyond"),
        (
            "request = \"1MiB\", when-larger = \"refuse\", memory = \"64KiB\"",
            503,
            Some("buffer-full"),
            "buffer-full",
        ),
        ("request = \"1MiB\", memory = \"64KiB\"", 200, None, "buffer-full"),
    ];
    for (buffer, status, cause, counter) in rows {
        let balancer = TestBalancer::start(&setup(&recorder, buffer));
        for head in [put(body.len(), ""), chunked.to_owned()] {
            let mut client = balancer.client();
            client.send(&head);
            let _ = client.try_send(if head == chunked { &coded } else { &body });
            let answer = client.read_answer();
            let said = answer.field("x-steelyard-cause");
            assert_eq!((answer.status(), said.as_deref()), (status, cause), "{buffer} {head}");
        }
        assert_eq!(count(&balancer, counter), 2, "{buffer}");
        // A body that fits is buffered, because the earlier requests released their memory.
        let mut client = balancer.client();
        assert_eq!(client.post("/z", &body[..30_000]).status(), 200, "{buffer}");
    }
    let got = recorder.so_far().requests;
    assert_eq!(got.iter().filter(|request| request.body == body).count(), 4);
}

#[test]
fn a_client_that_stops_or_lies_has_its_cause_and_no_server() {
    let recorder = RecordingServer::start();
    let service = "buffer = { request = \"1MiB\" }\ntimeout = { between-bytes = \"300ms\" }\n";
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(service));
    let mut slow = balancer.client();
    slow.send(put(1_000, "")).send("some");
    let answer = slow.read_answer();
    let cause = answer.field("x-steelyard-cause");
    assert_eq!((answer.status(), cause.as_deref()), (408, Some("client-body-timeout")));
    let gone = balancer.client();
    gone.send(put(1_000, "")).send("some").shut_down_write();
    balancer.wait_for_log_line("gone", |line| line["cause"] == "client-closed-request");
    let mut broken = balancer.client();
    broken.send("PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").send("zz\r\n");
    assert_eq!(broken.read_answer().status(), 400);
    assert!(recorder.so_far().requests.is_empty());
}

/// Requests a page and does not read the response.
fn lazy(balancer: &TestBalancer) -> HttpClient {
    let client = balancer.client();
    rustix::net::sockopt::set_socket_recv_buffer_size(client.stream(), 64 * 1024).unwrap();
    client.send("GET /bytes/2000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client
}

#[test]
fn a_server_is_free_before_a_slow_client_has_its_answer() {
    let origin = origin("a");
    let started = |buffer: &str| {
        let service = format!("socket = {{ send-buffer = \"64KiB\" }}\nbuffer = {{ {buffer} }}\n");
        let pool = "connections = 1\ntimeout = { queue = \"300ms\" }\n";
        let setup = BalancerConfig::http(&[origin.address()]).service(&service).pool(pool);
        TestBalancer::start(&setup.global("workers = 1"))
    };
    let balancer = started("response = \"8MiB\"");
    let mut slow = lazy(&balancer);
    balancer.report_when("the server is free", |report| {
        report.pools[0].servers[0].in_flight == 0
            && report.total.bodies.iter().any(|one| one.name == "buffered-answers")
    });
    assert_eq!(balancer.client().get("/").status(), 200);
    assert_eq!(slow.read_answer().body.len(), 2_000_000);
    assert_eq!(slow.get("/bytes/10").body.len(), 10, "its connection goes on");
    let page = curl(&[balancer.url("/chunked/3000000")]);
    assert_eq!(page.len(), 3_000_000);
    drop(slow);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
    // Without response buffering, or without memory for it, the second client waits in vain.
    for buffer in ["response = \"off\"", "response = \"8MiB\", memory = \"64KiB\""] {
        let balancer = started(buffer);
        let slow = lazy(&balancer);
        wait::until("the server is taken", || balancer.report().pools[0].servers[0].in_flight == 1);
        assert_eq!(balancer.client().get("/").status(), 503, "{buffer}");
        drop(slow);
    }
}

#[test]
fn whoever_goes_in_the_middle_of_what_was_kept_is_reported() {
    let origin = origin("a");
    let service = "socket = { send-buffer = \"64KiB\" }\nbuffer = { response = \"8MiB\" }\n\
                   timeout = { between-bytes = \"300ms\" }\n";
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).service(service));
    lazy(&balancer).stream().flush().unwrap();
    balancer.wait_for_log_line("gone", |line| line["cause"] == "client-closed-response");
    let stalled = lazy(&balancer);
    balancer.wait_for_log_line("stalled", |line| line["cause"] == "client-read-timeout");
    drop(stalled);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}
