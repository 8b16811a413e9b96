//! The responses of an origin, byte by byte.

use std::sync::Arc;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use super::{CloseMode, HttpOriginConnection, OriginOutput};
use crate::origin::content::{OriginContent, OriginFault};
use crate::origin::request_log::RequestIdLog;

struct OriginTestClient {
    site: OriginContent,
    http: HttpOriginConnection,
}

impl OriginTestClient {
    fn new() -> OriginTestClient {
        OriginTestClient {
            site: OriginContent::new("a", 3, Arc::new(RequestIdLog::default())),
            http: HttpOriginConnection::new(),
        }
    }

    /// All pending output.
    fn drain(&mut self) -> String {
        let mut text = Vec::new();
        loop {
            let output = self.http.output();
            if output.is_empty() {
                return String::from_utf8(text).unwrap();
            }
            let OriginOutput { bytes, fill } = output;
            let sent = bytes.len() + fill as usize;
            text.extend_from_slice(bytes);
            text.resize(text.len() + fill as usize, b'-');
            self.http.on_written(sent);
        }
    }

    fn ask(&mut self, text: &str) -> String {
        self.http.on_received(text.as_bytes(), &mut self.site, MonotonicTime(0));
        self.drain()
    }
}

const HEAD: &str = "HTTP/1.1 200 \r\nx-origin: a\r\nContent-Length: ";

#[test]
fn answers() {
    let rows = [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", format!("{HEAD}3\r\n\r\n---"), None),
        ("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", format!("{HEAD}3\r\n\r\n"), None),
        ("GET /bytes/5 HTTP/1.1\r\nHost: h\r\n\r\n", format!("{HEAD}5\r\n\r\n-----"), None),
        (
            "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
            format!("{HEAD}3\r\nConnection: close\r\n\r\nok\n"),
            Some(CloseMode::Close),
        ),
        ("GET / HTTP/1.0\r\n\r\n", format!("{HEAD}3\r\nConnection: close\r\n\r\n---"), Some(CloseMode::Close)),
        (
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody",
            format!("{HEAD}4\r\n\r\nbody"),
            None,
        ),
        (
            "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
            format!("{HEAD}4\r\n\r\nbody"),
            None,
        ),
        (
            "GET /chunked/3 HTTP/1.1\r\nHost: h\r\n\r\n",
            "HTTP/1.1 200 \r\nx-origin: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n---\r\n0\r\n\r\n".into(),
            None,
        ),
        (
            "GET /status/503 HTTP/1.1\r\nHost: h\r\n\r\n",
            "HTTP/1.1 503 \r\nx-origin: a\r\nContent-Length: 0\r\n\r\n".into(),
            None,
        ),
    ];
    for (request, expected, ending) in rows {
        for split in 0..request.len() {
            let mut peer = OriginTestClient::new();
            let (first, second) = request.split_at(split);
            assert_eq!(peer.ask(first), "", "{request}");
            assert_eq!(peer.ask(second), expected, "{request}");
            assert_eq!(peer.http.ending(), ending, "{request}");
            assert_eq!(peer.site.requests, 1);
        }
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let mut peer = OriginTestClient::new();
    let one = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
    let text = one("/bytes/100000") + &one("/chunked/20000") + &one("/status/404");
    let mut all = peer.ask(&text);
    while peer.http.has_input() {
        all += &peer.ask("");
    }
    assert!(all.ends_with("HTTP/1.1 404 \r\nx-origin: a\r\nContent-Length: 0\r\n\r\n"));
    let body = all.bytes().filter(|byte| *byte == b'-').count();
    let in_names = 3 * 2;
    assert_eq!(body, 120_000 + in_names);
    assert!(peer.http.is_idle());
}

#[test]
fn a_delay_is_waited_for() {
    let mut peer = OriginTestClient::new();
    assert_eq!(peer.ask("GET /delay/50 HTTP/1.1\r\nHost: h\r\n\r\n"), "");
    let due = peer.http.wake_at().unwrap();
    assert_eq!(due, MonotonicTime(0) + Duration::from_millis(50));
    peer.http.on_received(b"", &mut peer.site, MonotonicTime(due.0 - 1));
    assert_eq!(peer.drain(), "");
    peer.http.on_received(b"", &mut peer.site, due);
    assert!(peer.drain().ends_with("late\n"));
}

#[test]
fn identifiers_are_recorded_when_a_request_is_whole() {
    let mut peer = OriginTestClient::new();
    let head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n";
    peer.ask(&format!("{head}id=00000000000000"));
    peer.ask("ab");
    assert!(!peer.site.request_log.contains(0xab), "a byte is missing");
    peer.ask("\n");
    assert!(peer.site.request_log.contains(0xab));
    peer.ask("GET / HTTP/1.1\r\nHost: h\r\nx-lab-id: 00000000000000ac\r\n\r\n");
    assert_eq!(peer.site.request_log.arrivals().distinct, 2);
}

#[test]
fn faults_end_connections_as_named() {
    let rows = [
        (OriginFault::Status(500), None, "HTTP/1.1 500 "),
        (OriginFault::Garbage, Some(CloseMode::Close), "\x16"),
        (OriginFault::CloseBeforeAnswer, Some(CloseMode::Close), ""),
        (OriginFault::ResetBeforeAnswer, Some(CloseMode::Reset), ""),
        (OriginFault::CloseMidAnswer, Some(CloseMode::Close), "HTTP/1.1 200 "),
        (OriginFault::ResetMidAnswer, Some(CloseMode::Reset), "HTTP/1.1 200 "),
        (OriginFault::Silence, None, ""),
    ];
    for (fault, ending, start) in rows {
        let mut peer = OriginTestClient::new();
        peer.site.fault = Some(fault);
        let answer = peer.ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        assert!(answer.starts_with(start) && answer.is_empty() == start.is_empty(), "{fault:?}");
        assert_eq!(peer.http.ending(), ending, "{fault:?}");
    }
}

#[test]
fn broken_requests_and_websockets() {
    let mut peer = OriginTestClient::new();
    let answer = peer.ask(
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(peer.http.ending(), Some(CloseMode::Close));

    let mut peer = OriginTestClient::new();
    let fields =
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    let answer = peer.ask(&format!("GET /ws HTTP/1.1\r\nHost: h\r\n{fields}\r\n\r\n"));
    assert!(answer.contains("101") && answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");
    peer.http.on_received(&[0x81, 0x81, 0, 0, 0, 0, b'x'], &mut peer.site, MonotonicTime(0));
    assert_eq!(peer.http.output().bytes, &[0x81, 1, b'x']);
}
