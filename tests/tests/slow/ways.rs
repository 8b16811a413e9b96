//! The same causes with clients over TLS and over HTTP/2.

use std::net::TcpStream;
use std::time::Duration;

use lab::link_emulation::LinkShape;
use lab::net::SysctlSetting;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::wait;

use super::exchange_route::{ExchangeRoute, ExchangeTransport};
use super::line::{FAR, before, beyond, far};
use super::setup::{blamed, logged, server, times};

fn named(what: &str, way: &ExchangeRoute, lines: &[Value], owner: &str) {
    blamed(&format!("{what} {}", way.name()), lines, owner);
}

fn thinks(kind: ExchangeTransport) {
    let way = ExchangeRoute::new(kind);
    let origin = server(|_| ());
    let setup = BalancerConfig::http(&[origin.address()]).service(&way.service());
    let balancer = TestBalancer::start(&setup);
    for _ in 0..times() {
        assert!(way.fetch(balancer.front(), "/100/250") >= 100);
    }
    let lines = logged(&balancer, "/100/250", times());
    named("a server that thinks", &way, &lines, "server");
    assert!(lines.iter().all(|line| line["limit"] == "SERVER_THINK"), "{lines:#?}");
}

#[test]
fn a_server_that_thinks_over_tls() {
    thinks(ExchangeTransport::Tls);
}

#[test]
fn a_server_that_thinks_over_http_2() {
    thinks(ExchangeTransport::Http2);
}

fn reads_slowly(kind: ExchangeTransport) {
    let way = ExchangeRoute::new(kind);
    let origin = server(|_| ());
    let setup = BalancerConfig::http(&[origin.address()]).service(&way.service());
    let balancer = TestBalancer::start(&setup);
    for _ in 0..times() {
        let stream = TcpStream::connect(balancer.front()).unwrap();
        set_socket_recv_buffer_size(&stream, 64 * 1024).unwrap();
        assert!(way.ask(stream, "/12000000", Duration::from_millis(5)) >= 12_000_000);
    }
    let lines = logged(&balancer, "/12000000", times());
    named("a client that reads slowly", &way, &lines, "client");
}

#[test]
fn a_client_that_reads_slowly_over_tls() {
    reads_slowly(ExchangeTransport::Tls);
}

#[test]
fn a_client_that_reads_slowly_over_http_2() {
    reads_slowly(ExchangeTransport::Http2);
}

fn queue(kind: ExchangeTransport) {
    let way = ExchangeRoute::new(kind);
    let origin = server(|_| ());
    let setup = BalancerConfig::http(&[]).server("a", origin.address(), ", connections = 1");
    let setup = setup.global("workers = 1").pool("timeout.queue = \"20s\"");
    let balancer = TestBalancer::start(&setup.service(&way.service()));
    let front = balancer.front();
    for _ in 0..times() {
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| way.fetch(front, "/10/600"));
            wait::until("the server at its cap", || balancer.server("a").in_flight == 1);
            way.fetch(front, "/77");
            holder.join().unwrap();
        });
    }
    let lines = logged(&balancer, "/77", times());
    named("a queue before a server at its cap", &way, &lines, "balancer");
    assert!(lines.iter().all(|line| line["limit"] == "QUEUE"), "{lines:#?}");
}

#[test]
fn a_queue_before_a_server_at_its_cap_over_tls() {
    queue(ExchangeTransport::Tls);
}

#[test]
fn a_queue_before_a_server_at_its_cap_over_http_2() {
    queue(ExchangeTransport::Http2);
}

fn small_send_buffer(kind: ExchangeTransport) {
    let Some(line) = far(LinkShape { delay: FAR, ..LinkShape::default() }) else { return };
    let way = ExchangeRoute::new(kind);
    let service = format!("socket.send-buffer = \"16KiB\"\n{}", way.service());
    let (_origin, balancer) = beyond(&line, &service);
    let front = balancer.front();
    for _ in 0..times() {
        line.client.run_inside(|| way.fetch(front, "/600000")).unwrap();
    }
    let lines = logged(&balancer, "/600000", times());
    named("a send buffer of ours that is smaller than the path", &way, &lines, "balancer");
}

#[test]
fn a_send_buffer_of_ours_that_is_smaller_than_the_path_over_tls() {
    small_send_buffer(ExchangeTransport::Tls);
}

#[test]
fn a_send_buffer_of_ours_that_is_smaller_than_the_path_over_http_2() {
    small_send_buffer(ExchangeTransport::Http2);
}

fn losses(kind: ExchangeTransport) {
    let shape = LinkShape {
        delay: FAR,
        bits_per_second: 60_000_000,
        queue_bytes: 400_000,
        drop_every: 40,
        ..LinkShape::default()
    };
    let Some(line) = far(shape) else { return };
    line.client
        .write_sysctls(&[SysctlSetting {
            path: "net/ipv4/tcp_rmem",
            value: "4096 6291456 8388608",
        }])
        .unwrap();
    let way = ExchangeRoute::new(kind);
    let (_origin, balancer) = beyond(&line, &way.service());
    let front = balancer.front();
    for _ in 0..times() {
        line.client.run_inside(|| way.fetch(front, "/6000000")).unwrap();
    }
    let lines = logged(&balancer, "/6000000", times());
    named("a path that loses packets", &way, &lines, "network");
    let losses = lines.iter().filter(|line| line["limit"] == "LOSS").count();
    assert!(losses * 2 > lines.len(), "{lines:#?}");
}

#[test]
fn a_path_that_loses_packets_over_tls() {
    losses(ExchangeTransport::Tls);
}

#[test]
fn a_path_that_loses_packets_over_http_2() {
    losses(ExchangeTransport::Http2);
}

fn connecting(kind: ExchangeTransport) {
    let delay = Duration::from_millis(80);
    let Some(line) = far(LinkShape { delay, ..LinkShape::default() }) else { return };
    let way = ExchangeRoute::new(kind);
    let (_origin, balancer) = before(&line, &way.service(), |_| ());
    let front = balancer.front();
    for _ in 0..times() {
        line.client.run_inside(|| way.fetch(front, "/99")).unwrap();
    }
    let lines = logged(&balancer, "/99", times());
    named("connections that take long to open", &way, &lines, "network");
}

#[test]
fn connections_that_take_long_to_open_over_tls() {
    connecting(ExchangeTransport::Tls);
}

#[test]
fn connections_that_take_long_to_open_over_http_2() {
    connecting(ExchangeTransport::Http2);
}
