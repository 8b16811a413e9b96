//! HTTP/2 to servers: many requests on few connections, trailers, bidirectional streams, and retries.

use std::sync::atomic::Ordering;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::frames::{END, FrameClient, WHOLE, fields, head, kind};
use tests::e2e::h2client::{self, H2Request};
use tests::e2e::h2origin::{H2Behaviour, H2Origin};
use tests::e2e::servers::{self, addresses};
use tests::e2e::wait;

const PLAIN: H2Behaviour = H2Behaviour { name: "one", streams: 100, refusals: 0 };

fn before(origins: &[&H2Origin], http2: &str) -> TestBalancer {
    let at: Vec<_> = origins.iter().map(|origin| origin.address()).collect();
    let setup = BalancerConfig::http(&at).global("workers = 1\n").service("http2 = \"always\"\n");
    TestBalancer::start(&setup.pool(&format!("http2 = {http2}\n")))
}

#[test]
fn many_requests_share_a_connection() {
    let origin = H2Origin::start(PLAIN);
    let balancer = before(&[&origin], "\"only\"");
    let asked: Vec<H2Request> = (0..60).map(|_| H2Request::get("/")).collect();
    let answers = h2client::send_all(balancer.front(), &asked);
    assert!(
        answers.iter().all(|answer| answer.status == 200 && answer.body == b"one"),
        "{answers:?}"
    );
    // HTTP/1 clients share the connection too.
    let mut client = balancer.client();
    for _ in 0..20 {
        assert_eq!(client.get("/").body, b"one");
    }
    let seen = origin.counts();
    assert_eq!(seen.requests.load(Ordering::Relaxed), 80);
    assert_eq!(seen.connections.load(Ordering::Relaxed), 1);
}

#[test]
fn more_requests_than_streams_open_another_connection() {
    let origin = H2Origin::start(PLAIN);
    let balancer = before(&[&origin], "{ mode = \"only\", streams = 5 }");
    let asked: Vec<H2Request> = (0..23).map(|_| H2Request::post("/echo", b"x")).collect();
    let answers = h2client::send_all(balancer.front(), &asked);
    assert!(
        answers.iter().all(|answer| answer.status == 200 && answer.body == b"x"),
        "{answers:?}"
    );
    let connections = origin.counts().connections.load(Ordering::Relaxed);
    assert!((1..=23).contains(&connections), "{connections}");
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn bodies_and_trailers_go_both_ways() {
    let origin = H2Origin::start(PLAIN);
    let balancer = before(&[&origin], "\"prefer\"");
    let body: Vec<u8> = (0..2_000_000u32).map(|at| (at % 251) as u8).collect();
    let mut asked = H2Request::post("/echo", &body);
    asked.trailers = vec![("x-sum", "42"), ("grpc-note", "ours")];
    asked.fields = vec![("te", "trailers".to_owned())];
    let answer = &h2client::send_all(balancer.front(), &[asked])[0];
    assert_eq!(answer.error, None);
    assert!(answer.body == body, "{} bytes came back", answer.body.len());
    let trailer = |name: &str| answer.trailers.get(name).and_then(|value| value.to_str().ok());
    assert_eq!((trailer("x-sum"), trailer("grpc-note")), (Some("42"), Some("ours")));
    assert_eq!(trailer("grpc-status"), Some("0"));
    assert_eq!(answer.field("x-te").as_deref(), Some("trailers"));
}

#[test]
fn both_directions_stream_at_once() {
    let origin = H2Origin::start(PLAIN);
    let balancer = before(&[&origin], "\"only\"");
    let mut client = FrameClient::connect(balancer.front());
    client.send(kind::HEADERS, WHOLE, 1, &head("POST", "/echo", &[("te", "trailers")]));
    for word in ["one", "two", "three"] {
        client.send(kind::DATA, 0, 1, word.as_bytes());
        // The echo of each word arrives before the next word is sent.
        assert_eq!(client.next_of(kind::DATA).unwrap().payload, word.as_bytes());
    }
    client.send(kind::HEADERS, END | WHOLE, 1, &fields(&[("x-last", "yes")]));
    let trailers = client.next_of(kind::HEADERS).unwrap();
    assert_eq!(trailers.flags & END, END);
}

#[test]
fn the_authority_is_reported_once() {
    let one = H2Origin::start(PLAIN);
    let two = H2Origin::start(H2Behaviour { name: "two", ..PLAIN });
    let at = [one.address(), two.address()];
    let pool = "http2 = \"only\"\nhedge = \"1ms\"\n";
    let setup = BalancerConfig::http(&at)
        .global("workers = 1\n")
        .service("http2 = \"always\"\n")
        .pool(pool);
    let balancer = TestBalancer::start(&setup);
    let asked = [H2Request::get("/"), H2Request::post("/echo", b"body"), H2Request::get("/echo")];
    for answer in h2client::send_all(balancer.front(), &asked) {
        assert_eq!((answer.status, answer.field("x-host").as_deref()), (200, Some("-")));
    }
    let answer = balancer.client().get("/");
    assert_eq!(answer.field("x-host").as_deref(), Some("-"));
}

#[test]
fn a_connection_that_a_request_authenticates_serves_no_other() {
    let origin = H2Origin::start(PLAIN);
    let balancer = before(&[&origin], "\"only\"");
    for credentials in ["NTLM TlRM", "Negotiate YII"] {
        let fields = vec![("authorization", credentials.to_owned())];
        let asked = H2Request { fields, ..H2Request::get("/") };
        assert_eq!(h2client::send_all(balancer.front(), &[asked])[0].status, 200);
    }
    assert_eq!(h2client::send_all(balancer.front(), &[H2Request::get("/")])[0].status, 200);
    assert_eq!(origin.counts().connections.load(Ordering::Relaxed), 3);
}

#[test]
fn what_was_not_processed_is_sent_again() {
    let origin = H2Origin::start(H2Behaviour { refusals: 2, ..PLAIN });
    let balancer = before(&[&origin], "\"only\"");
    // Even a POST is retried, because the server reported that it had not processed the request.
    let answer = &h2client::send_all(balancer.front(), &[H2Request::post("/refuse", b"once")])[0];
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b"one"[..]));
    assert_eq!(origin.counts().refused.load(Ordering::Relaxed), 2);
}

#[test]
fn a_server_that_goes_away_in_order_loses_nothing() {
    let origin = H2Origin::start(PLAIN);
    let balancer = before(&[&origin], "\"only\"");
    let mut asked = Vec::new();
    for _ in 0..10 {
        asked.extend([
            H2Request::get("/"),
            H2Request::get("/goaway"),
            H2Request::post("/echo", b"body"),
        ]);
    }
    for _ in 0..2 {
        let answers = h2client::send_all(balancer.front(), &asked);
        assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    }
    assert!(origin.counts().connections.load(Ordering::Relaxed) > 1);
}

#[test]
fn a_server_of_http_1_alone_is_not_asked_in_another_way() {
    let origins = [servers::origin("old")];
    let setup = BalancerConfig::http(&addresses(&origins)).pool("http2 = \"only\"\n");
    let balancer = TestBalancer::start(&setup);
    let answer = balancer.client().get("/");
    assert!(answer.status() == 502 || answer.status() == 504, "{answer:?}");
}

#[test]
fn an_idle_connection_to_a_server_ends() {
    let origin = H2Origin::start(PLAIN);
    let at = [origin.address()];
    let setup =
        BalancerConfig::http(&at).pool("http2 = \"only\"\ntimeout = { idle = \"200ms\" }\n");
    let balancer = TestBalancer::start(&setup);
    assert_eq!(balancer.client().get("/").status(), 200);
    wait::until("no connection to the server", || {
        let report = balancer.report();
        report.pools.iter().flat_map(|pool| &pool.servers).all(|server| server.connections == 0)
    });
    assert_eq!(balancer.client().get("/").status(), 200, "the next one opens another");
}
