//! The limit of request bodies: longer ones are refused as nginx refuses them, and never look complete to a server.

use std::sync::atomic::Ordering;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::h2origin::{H2Behaviour, H2Origin};
use tests::e2e::http::{ReceivedMessage, noise};
use tests::e2e::nginx::Nginx;
use tests::e2e::recording_server::{RecordingServer, ScriptedServer};
use tests::e2e::wait;

const MOST: usize = 100_000;

fn setup(recorder: &RecordingServer, service: &str) -> BalancerConfig {
    let service =
        format!("http2 = \"always\"\nlimit = {{ body-bytes = \"{MOST}B\" }}\n{service}\n");
    BalancerConfig::http(&[recorder.address()]).global("workers = 1").service(&service)
}

fn put(path: &str, fields: &str) -> String {
    format!("PUT {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n")
}

/// The body in chunks of so many bytes.
fn in_chunks(body: &[u8], size: usize) -> Vec<u8> {
    let mut coded = Vec::new();
    for chunk in body.chunks(size) {
        coded.extend(format!("{:x}\r\n", chunk.len()).bytes());
        coded.extend_from_slice(chunk);
        coded.extend_from_slice(b"\r\n");
    }
    coded.extend_from_slice(b"0\r\n\r\n");
    coded
}

fn cause(answer: &ReceivedMessage) -> Option<String> {
    answer.field("x-steelyard-cause")
}

#[test]
fn a_length_beyond_the_limit_is_refused_before_a_server_has_a_byte() {
    let recorder = RecordingServer::start();
    for more in ["", "buffer = { request = \"1MiB\" }"] {
        let balancer = TestBalancer::start(&setup(&recorder, more));
        for expectation in ["", "Expect: 100-continue\r\n"] {
            let mut client = balancer.client();
            client.send(put("/x", &format!("{expectation}Content-Length: {}\r\n", MOST + 1)));
            // Nothing of the body was sent, and the first answer is the last.
            let answer = client.read_answer();
            assert_eq!((answer.status(), cause(&answer).as_deref()), (413, Some("body-too-large")));
            assert_eq!(answer.field("connection").as_deref(), Some("close"));
        }
        let request = H2Request {
            fields: vec![("content-length", (MOST + 1).to_string())],
            ..H2Request::post("/x", &noise(MOST + 1))
        };
        assert_eq!(send_all(balancer.front(), &[request])[0].status, 413);
        let report = balancer.report_when_settled();
        assert_eq!(report.pools[0].servers[0].connects.total, 0, "no server was asked");
        let refused = report.total.causes.iter().find(|one| one.cause == "body-too-large");
        assert_eq!(refused.unwrap().count.total, 3);
        balancer.wait_for_log_line("logged", |line| line["cause"] == "body-too-large");
    }
    assert!(recorder.so_far().connections.is_empty());
}

#[test]
fn a_body_of_the_limit_passes_and_one_byte_more_does_not() {
    let recorder = RecordingServer::start();
    for more in ["", "buffer = { request = \"1MiB\" }", "compress = true"] {
        let balancer = TestBalancer::start(&setup(&recorder, more));
        for (length, status) in [(MOST, 200), (MOST + 1, 413), (3 * MOST, 413)] {
            let body = noise(length);
            let mut client = balancer.client();
            client.send(put("/told", &format!("Content-Length: {length}\r\n")));
            let _ = client.try_send(&body);
            assert_eq!(client.read_answer().status(), status, "{more}: {length}");
            for size in [length, 999] {
                let mut client = balancer.client();
                client.send(put("/chunks", "Transfer-Encoding: chunked\r\n"));
                let _ = client.try_send(&in_chunks(&body, size));
                let answer = client.read_answer();
                assert_eq!(answer.status(), status, "{more}: {length} in chunks of {size}");
                assert_eq!(answer.field("connection").is_some(), status != 200, "{length}");
            }
            let answer = &send_all(balancer.front(), &[H2Request::post("/h2", &body)])[0];
            assert_eq!(answer.status, status, "{more}: {length} over HTTP/2");
        }
        assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
    }
    // The server saw whole bodies of the limit, and no whole one that is longer.
    let whole = recorder.take().requests;
    assert_eq!(whole.len(), 3 * 4);
    assert!(whole.iter().all(|request| request.body.len() == MOST));
}

#[test]
fn a_stream_over_http2_to_the_server_is_broken_off_and_its_connection_goes_on() {
    let origin = H2Origin::start(H2Behaviour { name: "h", streams: 100, refusals: 0 });
    let service = format!("http2 = \"always\"\nlimit = {{ body-bytes = \"{MOST}B\" }}\n");
    let setup = BalancerConfig::http(&[origin.address()]).global("workers = 1").service(&service);
    let balancer = TestBalancer::start(&setup.pool("http2 = \"only\"\n"));
    for (length, status) in [(MOST, 200), (MOST + 1, 413), (10, 200)] {
        let mut client = balancer.client();
        client.send(put("/echo", "Transfer-Encoding: chunked\r\n"));
        let _ = client.try_send(&in_chunks(&noise(length), 999));
        // The server answers before it has the whole body, so that the answer may have begun.
        let answer = client.read_answer_head();
        if answer.status() == 200 {
            let body = client.read_body(answer);
            assert_eq!(body.is_ok_and(|body| body.len() == length), status == 200, "{length}");
        } else {
            assert_eq!(answer.status(), status, "{length}");
        }
    }
    assert_eq!(origin.counts().connections.load(Ordering::Relaxed), 1);
}

#[test]
fn an_answer_that_has_begun_is_cut() {
    let talker = ScriptedServer::start(|stream| {
        use std::io::{Read, Write};
        let mut room = [0; 4096];
        let _ = (&stream).read(&mut room);
        let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
        while (&stream).read(&mut room).is_ok_and(|n| n > 0) {}
    });
    let service = format!("limit = {{ body-bytes = \"{MOST}B\" }}\n");
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[talker.address()]).service(&service));
    let mut client = balancer.client();
    client.send(put("/", "Transfer-Encoding: chunked\r\n")).send("5\r\nhello\r\n");
    let answer = client.read_answer_head();
    assert_eq!(answer.status(), 200);
    client.send(format!("{:x}\r\n", MOST));
    assert!(client.read_body(answer).is_err(), "the end of the answer never comes");
    balancer.wait_for_log_line("logged", |line| line["cause"] == "body-too-large");
    wait::until("the server's connection is closed", || talker.open() == 0);
}

#[test]
fn rules_have_their_own_limits() {
    let recorder = RecordingServer::start();
    let rules = "[[service.shop.rule]]\nwhen = { path = \"/small/*\" }\nbody-bytes = \"10B\"\n\
                 rewrite = { response-add = [{ field = \"x-own: 1\", own = true }] }\n\
                 [[service.shop.rule]]\nwhen = { path = \"/free/*\" }\nbody-bytes = \"off\"\n\
                 [[service.shop.rule]]\nwhen = { path = \"/moved\" }\nbody-bytes = \"10B\"\n\
                 redirect = \"https://{host}/\"\n\
                 [[service.shop.rule]]\nwhen = { path = \"/gone\" }\nanswer = 410\n";
    let balancer = TestBalancer::start(&setup(&recorder, "").with_tables(rules));
    for (path, length, status) in [
        ("/small/x", 10, 200),
        ("/small/x", 11, 413),
        ("/free/x", 2 * MOST, 200),
        ("/moved", 10, 302),
        ("/moved", 11, 413),
        // No server gets it.
        ("/gone", 2 * MOST, 410),
        ("/other", MOST, 200),
        ("/other", MOST + 1, 413),
    ] {
        let body = noise(length);
        let mut client = balancer.client();
        client.send(put(path, &format!("Content-Length: {length}\r\n")));
        let _ = client.try_send(&body);
        let answer = client.read_answer();
        assert_eq!(answer.status(), status, "{path} {length}");
        assert_eq!(answer.field("x-own").is_some(), path.starts_with("/small"), "{path} {length}");
    }
    let url = balancer.url("/small/x");
    let why = balancer.cli_output(&["explain", "request", "--url", &url]);
    assert!(why.contains("with body-bytes 10B"), "{why}");
}

/// What a client of HTTP/1 gets for bodies around the limit.
fn seen(front: std::net::SocketAddr) -> Vec<u16> {
    let mut seen = Vec::new();
    for length in [0, 1, MOST - 1, MOST, MOST + 1, 2 * MOST] {
        let body = noise(length);
        let told = put("/x", &format!("Content-Length: {length}\r\n"));
        let chunked = put("/x", "Transfer-Encoding: chunked\r\n");
        for (head, body) in [(told, body.clone()), (chunked, in_chunks(&body, 3_000))] {
            let mut client = HttpClient::connect(front);
            client.send(head);
            let _ = client.try_send(&body);
            seen.push(client.answer_or_end().map_or(0, |answer| answer.status()));
        }
    }
    seen
}

#[test]
fn nginx_with_the_same_limit_refuses_the_same() {
    let recorder = RecordingServer::start();
    let directives = format!(
        "client_max_body_size {MOST};\nlocation /x {{ proxy_pass http://{}; }}\n",
        recorder.address()
    );
    let nginx = Nginx::with("beside", &directives);
    let balancer = TestBalancer::start(&setup(&recorder, ""));
    let ours = seen(balancer.front());
    assert_eq!(ours, [200, 200, 200, 200, 200, 200, 200, 200, 413, 413, 413, 413]);
    assert_eq!(ours, seen(nginx.address()));
}
