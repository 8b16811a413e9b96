//! Ambiguous request heads: the API rejects them over the Unix socket and over TCP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::wait;

/// The timeout of an answer.
const LONG: Duration = Duration::from_secs(60);

/// Reads until the connection ends. A close with unread bytes may reset the connection.
fn answer(mut stream: impl Read + Write, bytes: &str) -> String {
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut got = Vec::new();
    let mut part = [0; 4_096];
    while let Ok(count @ 1..) = stream.read(&mut part) {
        got.extend_from_slice(&part[..count]);
    }
    String::from_utf8(got).unwrap()
}

fn over_both(socket: &Path, tcp: SocketAddr, bytes: &str) -> [String; 2] {
    let local = UnixStream::connect(socket).unwrap();
    local.set_read_timeout(Some(LONG)).unwrap();
    let remote = TcpStream::connect(tcp).unwrap();
    remote.set_read_timeout(Some(LONG)).unwrap();
    [answer(local, bytes), answer(remote, bytes)]
}

#[test]
fn a_head_that_can_be_read_in_two_ways_is_refused_and_ends_the_connection() {
    let origins = [origin("a")];
    let port = reserve_port();
    let tcp = port.address();
    let setup =
        BalancerConfig::http(&addresses(&origins)).control(&format!(", listen = \"{tcp}\""));
    let balancer = TestBalancer::start(&setup);
    wait::until("the API listens over TCP", || TcpStream::connect(tcp).is_ok());
    let socket = balancer.dir().join("sock");
    let host = format!("Host: {tcp}\r\n");
    let head = |fields: &str| format!("GET /v1/status HTTP/1.1\r\n{fields}\r\n");
    let post = |fields: &str| format!("POST /v1/undo HTTP/1.1\r\n{host}{fields}\r\n0\r\n\r\n");
    for (bytes, says) in [
        (head(""), "no Host field"),
        (head(&format!("{host}{host}")), "several Host fields"),
        (head(&format!("{host}Host: evil.example\r\n")), "several Host fields"),
        (head("Host: \r\n"), "not a host"),
        (head("Host: a, b\r\n"), "not a host"),
        (head("Host: user@127.0.0.1\r\n"), "not a host"),
        (post("Transfer-Encoding: gzip, chunked\r\n"), "`chunked` alone"),
        // Requests that the HTTP library rejects.
        (head(&format!("{host}X-A: b\r\n c\r\n")), ""),
        (head(&format!("{host}X-A : b\r\n")), ""),
        (post("Content-Length: 5\r\nContent-Length: 6\r\n"), ""),
        (post("Transfer-Encoding: chunked, gzip\r\n"), ""),
    ] {
        for got in over_both(&socket, tcp, &bytes) {
            assert!(got.starts_with("HTTP/1.1 400 "), "{bytes}\n{got}");
            assert!(got.contains(says), "{bytes}\n{got}");
            assert_eq!(got.matches("HTTP/1.1 ").count(), 1, "{bytes}\n{got}");
        }
    }
    // Bytes after such a request are not read, and neither are bytes after a chunked body.
    let behind = format!("GET /v1/status HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
    for (fields, status) in [
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "400 "),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "400 "),
        ("Transfer-Encoding: chunked\r\n", ""),
    ] {
        for got in over_both(&socket, tcp, &(post(fields) + &behind)) {
            assert!(got.starts_with(&format!("HTTP/1.1 {status}")), "{fields}\n{got}");
            assert_eq!(got.matches("HTTP/1.1 ").count(), 1, "{got}");
        }
    }
    let metrics = balancer.metrics();
    let counted = metrics
        .lines()
        .find(|line| line.contains("steelyard_api_refused_total{reason=\"malformed\","));
    assert!(counted.is_some_and(|line| line.ends_with(" 18")), "{counted:?}");
    // Well-formed requests still succeed.
    for got in over_both(&socket, tcp, &behind) {
        assert!(got.starts_with("HTTP/1.1 200 "), "{got}");
    }
}
