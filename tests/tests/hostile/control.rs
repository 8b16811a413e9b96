//! Connections that occupy the control listeners must not lock out commands and status requests.

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::flood::{self, ConnectionFlood, SourceAddresses};
use tests::e2e::servers::{self, origin};
use tests::e2e::wait;

/// More connections than the socket's limit.
const MANY: usize = 100;

fn hold(balancer: &TestBalancer, word: &[u8]) -> Vec<UnixStream> {
    let socket = balancer.dir().join("sock");
    let held = (0..MANY).map(|_| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        // Ignored: a connection beyond the limit is closed at once.
        let _ = stream.write_all(word);
        stream
    });
    held.collect()
}

#[test]
fn whoever_holds_the_control_socket_does_not_lock_the_operator_out() {
    let origin = origin("a");
    let words: [&[u8]; 5] = [
        b"",
        b"GET /v1/sta",
        b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/events/stream HTTP/1.1\r\nHost: x\r\n\r\n",
        // A request whose body never arrives.
        b"PUT /v1/config HTTP/1.1\r\nHost: x\r\nIf-Match: *\r\nContent-Length: 50000\r\n\r\n#",
    ];
    for word in words {
        let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
        let held = hold(&balancer, word);
        for _ in 0..5 {
            balancer.order_server("a", api::types::ServerAction::Drain);
            assert!(!balancer.status().services.is_empty());
        }
        wait::until("it is told", || balancer.count_events("connections-evicted") > 0);
        let metrics = balancer.metrics();
        let counted = metrics.lines().any(|line| {
            line.starts_with("steelyard_control_connections_closed_total{")
                && line.contains("socket")
                && !line.ends_with(" 0")
        });
        assert!(counted, "{metrics}");
        drop(held);
    }
}

/// The status of a request for `/v1/status` without a token. Empty if there is no response.
fn looked(at: SocketAddr, from: u8) -> String {
    let Ok(stream) = flood::connect_from([127, 7, 7, from].into(), at) else {
        return String::new();
    };
    let mut client = HttpClient::from_stream(stream);
    if client
        .try_send(b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        .is_err()
    {
        return String::new();
    }
    client.answer_or_end().map_or_else(String::new, |answer| answer.status().to_string())
}

#[test]
fn a_crowd_without_tokens_does_not_keep_others_from_the_api() {
    let origin = origin("a");
    for sources in [SourceAddresses::One, SourceAddresses::Many(300)] {
        let port = servers::reserve_port();
        let at = port.address();
        let keys = format!(", listen = \"{at}\", tokens = \"DIR/tokens\"");
        let setup = BalancerConfig::http(&[origin.address()]).control(&keys);
        let balancer = TestBalancer::start(&setup);
        wait::until("it listens", || !looked(at, 1).is_empty());
        let crowd = ConnectionFlood::start(at, sources, (200, 100), b"");
        for last in 0..60 {
            // The status may be 403 for some addresses, but every client gets a response.
            assert!(!looked(at, last).is_empty(), "{sources:?}");
        }
        crowd.stop();
        drop(balancer);
    }
}

/// A request with an incomplete body.
const BEGUN: &[u8] = b"POST /v1/explain/request HTTP/1.1\r\nHost: 127.0.0.1\r\n\
    Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{";
/// More connections than the limit for one address.
const BODIES: usize = 200;

#[test]
fn requests_whose_bodies_do_not_come_keep_nobody_of_the_same_address_out() {
    let origin = origin("a");
    let port = servers::reserve_port();
    let at = port.address();
    let keys = format!(", listen = \"{at}\", tokens = \"DIR/tokens\"");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).control(&keys));
    wait::until("it listens", || !looked(at, 1).is_empty());
    let mut held: Vec<_> = (0..BODIES)
        .filter_map(|_| {
            let mut stream = flood::connect_from([127, 7, 7, 1].into(), at).ok()?;
            stream.write_all(BEGUN).ok().map(|()| stream)
        })
        .collect();
    for _ in 0..20 {
        // Sends more of each body but never the end. Connections that the daemon closed in favour of a new client are
        // dropped from the list.
        held.retain_mut(|stream| stream.write_all(b" ").is_ok());
        wait::until("an answer, as soon as those bodies had their grace", || {
            !looked(at, 1).is_empty()
        });
        assert!(!balancer.status().services.is_empty());
    }
    wait::until("one was closed for it", || balancer.count_events("connections-evicted") > 0);
}
