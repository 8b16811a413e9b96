//! Causes without a long path: a server that thinks or sends slowly, a client that reads or sends slowly, and a full
//! queue.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt::set_socket_recv_buffer_size;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::wait;

use super::setup::{blamed, fetch, logged, server, times};

fn connect(balancer: &TestBalancer) -> TcpStream {
    TcpStream::connect(balancer.front()).unwrap()
}

#[test]
fn a_server_that_thinks() {
    let origin = server(|_| ());
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    let mut client = balancer.client();
    for _ in 0..times() {
        assert_eq!(client.get("/100/250").status(), 200);
    }
    let lines = logged(&balancer, "/100/250", times());
    blamed("a server that thinks", &lines, "server");
    assert!(lines.iter().all(|line| line["limit"] == "SERVER_THINK"), "{lines:#?}");
}

#[test]
fn a_server_that_dribbles() {
    let origin = server(|_| ());
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    for _ in 0..times() {
        fetch(&connect(&balancer), "/300000/0/20", Duration::ZERO);
    }
    blamed("a server that dribbles", &logged(&balancer, "/300000/0/20", times()), "server");
}

#[test]
fn a_client_that_reads_slowly() {
    let origin = server(|_| ());
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    for _ in 0..times() {
        let client = connect(&balancer);
        set_socket_recv_buffer_size(&client, 64 * 1024).unwrap();
        fetch(&client, "/12000000", Duration::from_millis(5));
    }
    let lines = logged(&balancer, "/12000000", times());
    blamed("a client that reads slowly", &lines, "client");
}

#[test]
fn a_client_that_sends_slowly() {
    let origin = server(|_| ());
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    for _ in 0..times() {
        let mut client = HttpClient::connect(balancer.front());
        client.send("POST /9 HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 100000\r\n\r\n");
        for _ in 0..10 {
            wait::linger(Duration::from_millis(25));
            client.stream().write_all(&[b'u'; 10_000]).unwrap();
        }
        assert_eq!(client.read_answer().status(), 200);
    }
    let lines = logged(&balancer, "/9", times());
    blamed("a client that sends slowly", &lines, "client");
    assert!(lines[0]["body-in-ms"].as_f64().unwrap() >= 200.0, "{:#?}", lines[0]);
}

#[test]
fn a_queue_before_a_server_at_its_cap() {
    let origin = server(|_| ());
    let setup = BalancerConfig::http(&[]).server("a", origin.address(), ", connections = 1");
    let balancer =
        TestBalancer::start(&setup.global("workers = 1").pool("timeout.queue = \"20s\""));
    for round in 0..times() {
        let mut holder = balancer.client();
        holder.send_get("/10/600");
        wait::until("the server at its cap", || balancer.server("a").in_flight == 1);
        let mut waiting = balancer.client();
        assert_eq!(waiting.get("/77").status(), 200, "{round}");
        assert_eq!(holder.read_answer().status(), 200, "{round}");
    }
    let lines = logged(&balancer, "/77", times());
    blamed("a queue before a server at its cap", &lines, "balancer");
    assert!(lines.iter().all(|line| line["limit"] == "QUEUE"), "{lines:#?}");
}
