//! The access log at a syslog server: over UDP and TCP, and where the server stops reading.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

use rustix::net::sockopt::set_socket_recv_buffer_size;
use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::recording_server::RecordingServer;

const LIMIT: Duration = Duration::from_secs(20);

fn start(target: &str, recorder: &RecordingServer) -> TestBalancer {
    TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).log_to(target))
}

/// The line in a message, which is JSON here.
fn line_of(message: &[u8]) -> Value {
    let text = std::str::from_utf8(message).unwrap();
    assert!(text.starts_with("<134>1 20"), "{text}");
    let (head, line) = text.split_once(" access - ").unwrap();
    assert!(head.contains(" steelyard "), "{text}");
    serde_json::from_str(line).unwrap()
}

#[test]
fn each_request_is_a_message_over_udp_and_tcp() {
    let recorder = RecordingServer::start();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(LIMIT)).unwrap();
    let address = server.local_addr().unwrap();
    let balancer = start(&format!("syslog://{address}"), &recorder);
    let mut client = balancer.client();
    let mut buffer = [0; 4_096];
    for path in ["/a", "/b"] {
        assert_eq!(client.get(path).status(), 200);
        let length = server.recv(&mut buffer).unwrap();
        assert_eq!(line_of(&buffer[..length])["target"], path);
    }
    let found = balancer.cli_output(&["log", "--json"]);
    assert!(found.contains("\"/b\""), "{found}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let balancer = start(&format!("syslog+tcp://{address}"), &recorder);
    let mut stream = listener.accept().unwrap().0;
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    assert_eq!(balancer.client().get("/c").status(), 200);
    let mut length = String::new();
    while !length.ends_with(' ') {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        length.push(byte[0].into());
    }
    let mut message = vec![0; length.trim_end().parse().unwrap()];
    stream.read_exact(&mut message).unwrap();
    assert_eq!(line_of(&message)["target"], "/c");
}

#[test]
fn requests_go_on_while_a_syslog_server_does_not_read_and_lines_are_counted() {
    let recorder = RecordingServer::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // What it accepts has little room too.
    set_socket_recv_buffer_size(&listener, 8 * 1024).unwrap();
    let target = format!("syslog+tcp://{}", listener.local_addr().unwrap());
    let balancer = start(&target, &recorder);
    let _stream = listener.accept().unwrap();
    let lost = "steelyard_access_log_entries_total{result=\"dropped-target\"} ";
    let count = || {
        let metrics = balancer.metrics();
        let after = metrics.split_once(lost).map(|(_, after)| after).unwrap_or_default();
        after.lines().next().unwrap_or("0").parse::<f64>().unwrap()
    };
    let long = format!("/{}", "x".repeat(1_000));
    let mut client = balancer.client();
    tests::e2e::wait::until("lines are lost", || {
        for _ in 0..200 {
            assert_eq!(client.get(&long).status(), 200);
        }
        count() > 0.0
    });
    assert_eq!(client.get("/after").status(), 200);
}
