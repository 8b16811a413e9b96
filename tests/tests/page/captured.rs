//! Captures that are explained over the API: an uploaded one, a stored one, and invalid input.

use std::io::Read;

use api::types::Role;
use flate2::read::GzDecoder;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::http::ReceivedMessage;
use tests::e2e::servers::{addresses, origin};
use tests::tree::top;

use crate::client::{ApiListener, problem, token};

const FILE: &str = "crates/trace/tests/captures/two_lb_slow_lb2.pcap.gz";

/// Sends these bytes to be explained.
fn sent(door: &ApiListener, token: &str, query: &str, bytes: &[u8]) -> ReceivedMessage {
    let head = format!(
        "POST /v1/explain/trace{query} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/octet-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        door.address(),
        bytes.len()
    );
    let mut client = HttpClient::connect(door.address());
    client.send(head).send(bytes);
    client.read_answer()
}

#[test]
fn a_capture_is_explained_wherever_it_comes_from_and_nonsense_is_reported() {
    let origins = [origin("a")];
    let door = ApiListener::new();
    let balancer = TestBalancer::start(&door.on(BalancerConfig::http(&addresses(&origins)), ""));
    let [view, operate] = [Role::View, Role::Operate].map(|role| token(balancer.dir(), role));
    door.open();
    let packed = std::fs::read(top().join(FILE)).unwrap();
    let mut capture = Vec::new();
    GzDecoder::new(packed.as_slice()).read_to_end(&mut capture).unwrap();

    let page = sent(&door, &operate, "?name=of%20today", &capture);
    assert_eq!((page.status(), page.field("content-type").as_deref()), (200, Some("text/html")));
    for part in ["Whose time was it?", "of today", "SILLY_WINDOW", "class=\"bounce\""] {
        assert!(page.text().contains(part), "{part}");
    }
    assert!(!page.text().contains(" style="), "a browser would not take it");

    let folder = balancer.dir().join("state/captures");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("slow-1795413600000.pcapng"), &capture).unwrap();
    let stored = "/v1/explain/capture?name=slow-1795413600000";
    assert!(door.with(&operate, "GET", stored, "").text().contains("Whose time was it?"));

    for (answer, status, kind) in [
        (sent(&door, &view, "", b"x"), 403, "role"),
        (sent(&door, &operate, "", &packed), 415, "capture"),
        (sent(&door, &operate, "", b"nonsense"), 422, "capture"),
        (sent(&door, &operate, "", b""), 422, "capture"),
        (sent(&door, &operate, "?connection=99", &capture), 404, "no-connection"),
        (door.with(&operate, "GET", "/v1/explain/capture?name=../sock", ""), 404, "no-capture"),
        (door.with(&operate, "GET", &format!("{stored}&connection=x"), ""), 400, "query"),
    ] {
        assert_eq!((answer.status(), problem(&answer).as_str()), (status, kind), "{answer:?}");
    }
}
