//! Causes on a long path: a server's send buffer that is smaller than the path, losses, and slow connection setup.
//!
//! The tests need root for namespaces.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use lab::link_emulation::{CLIENT, EmulatedLink, LinkShape, SERVER};
use lab::net::SysctlSetting;
use lab::port::ReservedPort;
use rustix::net::sockopt::set_socket_send_buffer_size;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::recording_server::ScriptedServer;
use tests::skip::skip;

use super::setup::{blamed, fetch, logged, server, server_at, times};

/// The delay to the far end.
pub const FAR: Duration = Duration::from_millis(20);

/// An emulated link. `None` if it cannot be created here.
pub fn far(shape: LinkShape) -> Option<EmulatedLink> {
    let back = LinkShape { delay: shape.delay, ..LinkShape::default() };
    match EmulatedLink::open(back, shape) {
        Ok(line) => Some(line),
        Err(error) => {
            skip(&format!("no line: {error}"));
            None
        }
    }
}

/// Starts the balancer and its server at the far end of the link.
pub fn beyond(line: &EmulatedLink, service: &str) -> (ScriptedServer, TestBalancer) {
    let (origin, port) =
        line.server.run_inside(|| (server(|_| ()), ReservedPort::new(SERVER).unwrap())).unwrap();
    let setup = BalancerConfig::http(&[origin.address()]).listen(vec![port]).service(service);
    let balancer = TestBalancer::start_at(&line.server, &setup);
    (origin, balancer)
}

fn fetch_over(line: &EmulatedLink, balancer: &TestBalancer, target: &str) {
    let front = balancer.front();
    line.client
        .run_inside(|| fetch(&TcpStream::connect(front).unwrap(), target, Duration::ZERO))
        .unwrap();
}

#[test]
fn a_send_buffer_of_ours_that_is_smaller_than_the_path() {
    let Some(line) = far(LinkShape { delay: FAR, ..LinkShape::default() }) else { return };
    let (_origin, balancer) = beyond(&line, "socket.send-buffer = \"16KiB\"");
    for _ in 0..times() {
        fetch_over(&line, &balancer, "/600000");
    }
    let lines = logged(&balancer, "/600000", times());
    blamed("a send buffer of ours that is smaller than the path", &lines, "balancer");
    assert!(lines.iter().all(|line| line["limit"] == "SEND_BUFFER"), "{lines:#?}");
}

#[test]
fn a_path_that_loses_packets() {
    let shape = LinkShape {
        delay: FAR,
        bits_per_second: 60_000_000,
        queue_bytes: 400_000,
        drop_every: 40,
        ..LinkShape::default()
    };
    let Some(line) = far(shape) else { return };
    // The client's receive buffer holds the whole response.
    line.client
        .write_sysctls(&[SysctlSetting {
            path: "net/ipv4/tcp_rmem",
            value: "4096 6291456 8388608",
        }])
        .unwrap();
    let (_origin, balancer) = beyond(&line, "");
    for _ in 0..times() {
        fetch_over(&line, &balancer, "/6000000");
    }
    let lines = logged(&balancer, "/6000000", times());
    blamed("a path that loses packets", &lines, "network");
    let losses = lines.iter().filter(|line| line["limit"] == "LOSS").count();
    assert!(losses * 2 > lines.len(), "{lines:#?}");
}

/// Starts the balancer at the client's end of the link, and the server at the far end.
pub fn before(
    line: &EmulatedLink,
    service: &str,
    prepare: fn(&TcpStream),
) -> (ScriptedServer, TestBalancer) {
    let far = SocketAddr::new(SERVER, 0);
    let origin = line.server.run_inside(|| server_at(far, prepare)).unwrap();
    let port = line.client.run_inside(|| ReservedPort::new(CLIENT).unwrap()).unwrap();
    let setup = BalancerConfig::http(&[origin.address()]).listen(vec![port]).service(service);
    let balancer = TestBalancer::start_at(&line.client, &setup.pool("limit.idle = 0"));
    (origin, balancer)
}

#[test]
fn connections_that_take_long_to_open() {
    let Some(line) = far(LinkShape { delay: Duration::from_millis(80), ..LinkShape::default() })
    else {
        return;
    };
    let (_origin, balancer) = before(&line, "", |_| ());
    for _ in 0..times() {
        fetch_over(&line, &balancer, "/99");
    }
    let lines = logged(&balancer, "/99", times());
    blamed("connections that take long to open", &lines, "network");
    assert!(lines.iter().all(|line| line["connect-ms"].as_f64() >= Some(150.0)), "{lines:#?}");
}

#[test]
fn a_send_buffer_of_the_servers_that_is_smaller_than_the_path() {
    let Some(line) = far(LinkShape { delay: FAR, ..LinkShape::default() }) else { return };
    let small = |stream: &TcpStream| set_socket_send_buffer_size(stream, 16 * 1024).unwrap();
    let (_origin, balancer) = before(&line, "", small);
    for _ in 0..times() {
        fetch_over(&line, &balancer, "/700000");
    }
    let lines = logged(&balancer, "/700000", times());
    blamed("a send buffer of the server's that is smaller than the path", &lines, "server");
}
