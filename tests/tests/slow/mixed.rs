//! Several things at once: two causes, of which the larger must come first; retries, hedged requests, mirrored requests,
//! compressed answers, tunnels, and connections that stay idle.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::wait::{self, linger};

use super::exchange_route::{ExchangeTransport, PacedRequest};
use super::plant::PlantedCause;
use super::plant_run::{PlantRow, by_clients, run_plants};
use super::setup::{logged, server, times};

const SERVER: PlantedCause = PlantedCause { what: "", owner: "server", limits: &["SERVER_THINK"] };

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn of_two_causes_the_larger_is_first() {
    let slow = PacedRequest {
        target: "/12000000/150",
        read_pause: ms(5),
        receive_buffer: 64 * 1024,
        ..PacedRequest::default()
    };
    let cause = PlantedCause {
        what: "a server that thinks before a client that reads more slowly",
        owner: "client",
        limits: &["RWND", "ZERO_WINDOW", "STREAM_WINDOW"],
    };
    let reads = PlantRow { cause, request: slow, ..PlantRow::default() };
    let what = "a server that thinks for longer than its client reads";
    let thinks = PlantRow {
        cause: PlantedCause { what, ..SERVER },
        request: PacedRequest { target: "/8000000/1500", ..slow },
        ..PlantRow::default()
    };
    let clients = [ExchangeTransport::Clear, ExchangeTransport::Http2];
    run_plants(&[by_clients(&reads, &clients), by_clients(&thinks, &clients)].concat());
}

#[test]
fn a_server_that_dribbles_what_is_compressed() {
    let cause = PlantedCause {
        what: "a server that dribbles what is compressed",
        owner: "server",
        limits: &["APP_SENDER"],
    };
    let request = PacedRequest {
        target: "/200000/0/20",
        fields: "Accept-Encoding: gzip\r\n",
        ..PacedRequest::default()
    };
    run_plants(&[PlantRow { cause, request, service: "compress = true\n", ..PlantRow::default() }]);
}

/// A server that closes each connection so long after a request has come, without an answer.
fn closing_server(after: Duration) -> ScriptedServer {
    ScriptedServer::start(move |stream: TcpStream| {
        let mut bytes = [0; 4096];
        if (&stream).read(&mut bytes).is_ok_and(|n| n > 0) {
            linger(after);
        }
    })
}

#[test]
fn an_attempt_that_its_server_ended_late_is_that_servers_time() {
    let [closing, good] = [closing_server(ms(300)), server()];
    let setup = BalancerConfig::http(&[closing.address(), good.address()]);
    let pool = "probe = \"off\"\nbalance = \"round-robin\"\neject = \"off\"\nretries = 1\n\
                retry = { budget = 100, at-least = 100 }\n";
    let balancer = TestBalancer::start(&setup.pool(pool).global("workers = 1"));
    let retried = |balancer: &TestBalancer| {
        let mut lines = balancer.log();
        lines.retain(|line| line["attempts"].as_u64() > Some(1) && line["status"] == 200);
        lines
    };
    wait::until("retried requests", || {
        let mut client = balancer.client();
        client.send_get("/100");
        client.answer_or_end();
        retried(&balancer).len() >= times()
    });
    let what = "an attempt that its server ended late";
    PlantedCause { what, ..SERVER }.check_lines("", &retried(&balancer));
}

#[test]
fn a_hedged_request_to_servers_that_think() {
    let servers = [server(), server()];
    let setup = BalancerConfig::http(&servers.each_ref().map(|server| server.address()));
    let balancer = TestBalancer::start(&setup.pool("probe = \"off\"\nhedge = \"100ms\"\n"));
    let mut client = balancer.client();
    for _ in 0..times() {
        assert_eq!(client.get("/100/350").status(), 200);
    }
    let what = "a hedged request to servers that think";
    let lines = logged(&balancer, "/100/350", times());
    PlantedCause { what, ..SERVER }.check_lines("", &lines);
}

#[test]
fn a_mirrored_request_is_as_slow_as_its_own_server() {
    let [own, mirror] = [server(), closing_server(ms(900))];
    let tables = format!(
        "[[service.shop.rule]]\nwhen = {{ path = \"/*\" }}\npool = \"web\"\nmirror = {{ pool = \"copy\" }}\n\
         [pool.copy]\nprobe = \"off\"\nservers = [{{ name = \"m\", address = \"{}\" }}]\n",
        mirror.address()
    );
    let setup = BalancerConfig::http(&[own.address()]).with_tables(&tables);
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    for _ in 0..times() {
        assert_eq!(client.get("/100/250").status(), 200);
        assert_eq!(client.get("/99").status(), 200);
    }
    let what = "a mirrored request to a server that thinks";
    let lines = logged(&balancer, "/100/250", times());
    PlantedCause { what, ..SERVER }.check_lines("", &lines);
    for line in logged(&balancer, "/99", times()) {
        assert!(line["total-ms"].as_f64() < Some(900.0), "the copy delays nobody: {line:#}");
    }
}

#[test]
fn a_connection_between_requests_is_not_slow() {
    let origin = server();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    let mut client = balancer.client();
    for _ in 0..3 {
        assert_eq!(client.get("/99").status(), 200);
        linger(ms(300));
    }
    for line in logged(&balancer, "/99", 3) {
        assert!(line["total-ms"].as_f64() < Some(300.0), "{line:#}");
    }
}

/// Accepts an upgrade, and answers each message after a time; with `pushes`, sends so many of its own.
fn upgrading_server(think: Duration, pushes: usize) -> ScriptedServer {
    const SWITCHED: &str =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n";
    ScriptedServer::start(move |stream: TcpStream| {
        let mut bytes = [0; 4096];
        let mut is_switched = false;
        while let Ok(n) = (&stream).read(&mut bytes) {
            if n == 0 || (!is_switched && (&stream).write_all(SWITCHED.as_bytes()).is_err()) {
                return;
            }
            if is_switched {
                linger(think);
                let _ = (&stream).write_all(b"answer");
            }
            for _ in 0..pushes {
                linger(ms(200));
                let _ = (&stream).write_all(b"news");
            }
            is_switched = true;
        }
    })
}

/// The line of an upgraded connection that asks once and is idle before and after.
fn upgraded(think: Duration, pushes: usize) -> Value {
    let origin = upgrading_server(think, pushes);
    let setup = BalancerConfig::http(&[origin.address()]).pool("probe = \"off\"\n");
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    client.send(
        "GET /own HTTP/1.1\r\nHost: shop.example\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n",
    );
    assert_eq!(client.read_answer_head().status(), 101);
    client.read_exactly(4 * pushes);
    linger(ms(400));
    client.send("question");
    client.read_exactly(6);
    drop(client);
    logged(&balancer, "/own", 1).remove(0)
}

#[test]
fn a_tunnel_is_slow_by_its_answers_alone() {
    for _ in 0..times().min(20) {
        let line = upgraded(ms(300), 0);
        assert_eq!((&line["owner"], &line["limit"]), (&"server".into(), &"SERVER_THINK".into()));
    }
    let line = upgraded(Duration::ZERO, 3);
    assert_eq!(line["owner"], Value::Null, "news are no answers: {line:#}");
}
