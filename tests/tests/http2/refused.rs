//! Requests that could smuggle HTTP/1 content through HTTP/2: each is rejected, named where the balancer itself detects
//! it, and not forwarded.

use api::types::RefusedRequest;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::frames::{END, FrameClient, WHOLE, fields, head, kind};
use tests::e2e::servers::{self, addresses};
use tests::e2e::wait;

/// The head of a request with these pseudo-header fields.
fn pseudo<'a>(list: &[(&'a str, &'a str)]) -> Vec<u8> {
    fields(list)
}

const SCHEME: (&str, &str) = (":scheme", "http");
const AUTHORITY: (&str, &str) = (":authority", "shop.example");
const PATH: (&str, &str) = (":path", "/smuggled");

fn get(more: &[(&str, &str)]) -> Vec<u8> {
    head("GET", "/smuggled", more)
}

/// Requests that the HTTP/2 library itself rejects, each with its mistake.
fn library_refusals() -> [(&'static str, Vec<u8>); 14] {
    [
        ("connection", get(&[("connection", "x-secret")])),
        ("transfer-encoding", get(&[("transfer-encoding", "chunked")])),
        ("keep-alive", get(&[("keep-alive", "timeout=5")])),
        ("proxy-connection", get(&[("proxy-connection", "keep-alive")])),
        ("upgrade", get(&[("upgrade", "h2c")])),
        ("te", get(&[("te", "chunked")])),
        ("upper case", get(&[("X-Upper", "a")])),
        ("a name with a blank", get(&[("x y", "a")])),
        ("a name with a colon", get(&[("x:y", "a")])),
        ("LF in a value", get(&[("x", "a\nb: c")])),
        ("CRLF in a value", get(&[("x", "a\r\n\r\nGET /x HTTP/1.1")])),
        ("NUL in a value", get(&[("x", "a\0b")])),
        (
            "a pseudo field after others",
            pseudo(&[("a", "b"), (":method", "GET"), SCHEME, AUTHORITY, PATH]),
        ),
        ("an unknown pseudo field", get(&[(":x", "y")])),
    ]
}

/// Requests that the balancer rejects, each by the name of its defect.
fn named_refusals() -> [(&'static str, Vec<u8>); 9] {
    [
        ("authority-mismatch", get(&[("host", "other.example")])),
        (
            "host-repeated",
            pseudo(&[
                (":method", "GET"),
                SCHEME,
                PATH,
                ("host", "a.example"),
                ("host", "a.example"),
            ]),
        ),
        ("host-missing", pseudo(&[(":method", "GET"), SCHEME, PATH])),
        ("target-scheme", pseudo(&[(":method", "GET"), (":scheme", "gopher"), AUTHORITY, PATH])),
        ("target-form", pseudo(&[(":method", "GET"), SCHEME, AUTHORITY, (":path", "*")])),
        ("connect-refused", pseudo(&[(":method", "CONNECT"), AUTHORITY])),
        ("bad-value", get(&[("x", " led")])),
        ("alias-field", get(&[("content_length", "5")])),
        ("expect-unknown", get(&[("expect", "a-miracle")])),
    ]
}

/// Waits until the rejected request is among the recent rejected requests.
fn is_kept(balancer: &TestBalancer, defect: &str) {
    let named = |one: &RefusedRequest| one.defect.as_deref() == Some(defect);
    wait::until("it is kept", || {
        let kept = balancer.refused().requests;
        kept.iter().any(|one| named(one) && one.protocol == "HTTP/2" && one.status >= 400)
    });
}

#[test]
fn what_would_be_smuggled_is_refused() {
    let origins = [servers::origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).service("http2 = \"always\"\n");
    let balancer = TestBalancer::start(&setup);
    for (defect, block) in &library_refusals() {
        let mut client = FrameClient::connect(balancer.front());
        client.send(kind::HEADERS, END | WHOLE, 1, block);
        let ended = std::iter::from_fn(|| client.next_frame())
            .find(|frame| matches!(frame.kind, kind::RESET | kind::GOAWAY | kind::HEADERS))
            .unwrap_or_else(|| panic!("{defect}: nothing came"));
        assert_ne!(ended.kind, kind::HEADERS, "{defect} was answered");
    }
    for (defect, block) in &named_refusals() {
        let mut client = FrameClient::connect(balancer.front());
        client.send(kind::HEADERS, END | WHOLE, 1, block);
        assert!(client.next_of(kind::HEADERS).is_some(), "{defect}: no answer");
        balancer.wait_for_log_line(defect, |line| {
            line["defect"] == *defect && line["protocol"] == "HTTP/2"
        });
        is_kept(&balancer, defect);
    }
    let report = balancer.report_when("library refusals", |report| {
        let named = report.total.defects.iter().filter(|one| one.name.starts_with("http2-"));
        named.map(|one| one.count.total).sum::<u64>() >= 14
    });
    assert_eq!(report.total.requests.unaccounted, 0);
    assert_eq!(origins[0].figures().requests, 0, "requests that reached the server");
}

#[test]
fn a_body_that_is_not_as_long_as_it_says_is_cut() {
    let origins = [servers::origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).service("http2 = \"always\"\n");
    let balancer = TestBalancer::start(&setup);
    for (said, body) in [("5", &b"123"[..]), ("3", b"12345")] {
        let mut client = FrameClient::connect(balancer.front());
        let block = head("POST", "/echo", &[("content-length", said)]);
        client.send(kind::HEADERS, WHOLE, 1, &block).send(kind::DATA, END, 1, body);
        let ended = std::iter::from_fn(|| client.next_frame())
            .find(|frame| matches!(frame.kind, kind::RESET | kind::GOAWAY | kind::HEADERS));
        assert_ne!(ended.unwrap().kind, kind::HEADERS, "{said}");
    }
    let mut client = FrameClient::connect(balancer.front());
    client.send(kind::HEADERS, END | WHOLE, 1, &head("POST", "/echo", &[("content-length", "4")]));
    assert!(client.next_of(kind::RESET).is_some());
    balancer.report_when("named", |report| {
        report.total.defects.iter().any(|one| one.name == "http2-malformed" && one.count.total >= 3)
    });
}
