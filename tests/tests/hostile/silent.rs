//! Idle connections up to every limit and beyond it: clients with requests are still served.

use std::net::Ipv4Addr;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::flood::{self, ConnectionFlood, SourceAddresses};
use tests::e2e::servers::{echo, origin};
use tests::e2e::wait;

const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const WAIT: &[u8] = b"GET /delay/600000 HTTP/1.1\r\nHost: a\r\n\r\n";

fn limit(balancer: &TestBalancer, name: &str) -> u64 {
    let limits = balancer.report().total.limits;
    limits.iter().find(|limit| limit.name == name).map_or(0, |limit| limit.count.total)
}

fn from(balancer: &TestBalancer, last: u8) -> HttpClient {
    HttpClient::from_stream(
        flood::connect_from(Ipv4Addr::new(127, 8, 8, last), balancer.front()).unwrap(),
    )
}

/// The status that a new client at this address receives.
fn new_client_status(balancer: &TestBalancer, last: u8) -> (u16, String) {
    let mut client = from(balancer, last);
    client.send(ASK);
    let answer = client.read_answer();
    (answer.status(), answer.field("x-steelyard-cause").unwrap_or_default())
}

#[test]
fn silent_connections_give_way_to_whoever_has_a_request() {
    let origin = origin("a");
    for sources in [SourceAddresses::One, SourceAddresses::Many(300)] {
        for word in [&b""[..], b"GET / HTTP/1.1\r\n"] {
            let setup =
                BalancerConfig::http(&[origin.address()]).service("limit = { connections = 60 }");
            let balancer = TestBalancer::start(&setup.global("workers = 1"));
            let crowd = ConnectionFlood::start(balancer.front(), sources, (100, 30), word);
            let mut kept = from(&balancer, 1);
            // A half-sent request is only evicted once it has stalled.
            wait::until("room", || {
                kept = from(&balancer, 1);
                kept.try_send(ASK).is_ok()
                    && kept.answer_or_end().is_some_and(|answer| answer.status() == 200)
            });
            for _ in 0..100 {
                if word.is_empty() {
                    assert_eq!(
                        new_client_status(&balancer, 2),
                        (200, String::new()),
                        "{sources:?}"
                    );
                }
            }
            assert_eq!(kept.get("/").status(), 200, "{sources:?}");
            // A single address gets at most half of the places, so that the other clients never compete with it.
            if sources != SourceAddresses::One {
                let evicted = if word.is_empty() { "evicted-silent" } else { "evicted-stalled" };
                wait::until("the crowd has filled its places", || limit(&balancer, evicted) > 0);
            }
            crowd.stop();
            drop(kept);
            let total = balancer.report_when_settled().total;
            assert_eq!((total.requests.unaccounted, total.connections.unaccounted), (0, 0));
        }
    }
}

#[test]
fn idle_connections_of_whoever_has_most_give_way() {
    let origin = origin("a");
    let limits = "limit = { connections = 20, connections-per-client = 20 }";
    let setup = BalancerConfig::http(&[origin.address()]).service(limits);
    let balancer = TestBalancer::start(&setup.global("workers = 1"));
    let mut few: Vec<HttpClient> = (0..2).map(|_| from(&balancer, 1)).collect();
    let mut many: Vec<HttpClient> = (0..18).map(|_| from(&balancer, 2)).collect();
    for client in few.iter_mut().chain(&mut many) {
        assert_eq!(client.get("/").status(), 200);
    }
    for last in 10..20 {
        assert_eq!(new_client_status(&balancer, last).0, 200);
    }
    for client in &mut few {
        assert_eq!(client.get("/").status(), 200, "older, but fewer");
    }
    let report = balancer.report();
    assert_eq!(report.total.connections.refused.total, 0);
    assert!(limit(&balancer, "evicted-idle") > 0, "{:?}", report.total.limits);
    drop((few, many));
    let total = balancer.report_when_settled().total;
    assert_eq!((total.requests.unaccounted, total.connections.unaccounted), (0, 0));
}

#[test]
fn idle_connections_of_any_worker_give_way() {
    let origin = origin("a");
    let limits = "limit = { connections = 3, connections-per-client = 3 }";
    let setup = BalancerConfig::http(&[origin.address()]).service(limits);
    let balancer = TestBalancer::start(&setup.global("workers = 4"));
    let mut kept: Vec<HttpClient> = Vec::new();
    for last in 0..30 {
        let mut client = from(&balancer, last);
        assert_eq!(client.get("/").status(), 200, "client {last}");
        kept.push(client);
    }
    assert_eq!(balancer.report().total.connections.refused.total, 0);
    assert!(limit(&balancer, "evicted-idle") >= 27);
}

#[test]
fn connections_in_use_are_never_closed_for_newcomers() {
    let origin = origin("a");
    let setup = BalancerConfig::http(&[origin.address()]).service("limit = { connections = 6 }");
    let balancer = TestBalancer::start(&setup.global("workers = 1"));
    let busy: Vec<HttpClient> = (0..6).map(|last| from(&balancer, last)).collect();
    for client in &busy {
        client.send(WAIT);
    }
    wait::until("all are in use", || balancer.server("a").in_flight == 6);
    for _ in 0..10 {
        assert_eq!(new_client_status(&balancer, 9), (503, "connection-limit".into()));
    }
    assert_eq!(balancer.server("a").in_flight, 6);
    assert!(busy.iter().all(|client| !client.has_ended()));
}

#[test]
fn one_client_has_its_share_of_connections_and_those_in_trust_have_more() {
    let origin = origin("a");
    let rows = [
        ("limit = { connections-per-client = 5 }", Some(5)),
        ("limit = { connections = 40 }", Some(20)),
        ("limit = { connections = 40 }\ntrust = [\"127.8.8.0/24\"]", None),
    ];
    for (lines, share) in rows {
        let setup = BalancerConfig::http(&[origin.address()]).service(lines).global("workers = 1");
        let balancer = TestBalancer::start(&setup);
        let mut busy = Vec::new();
        for _ in 0..share.unwrap_or(40) {
            let client = from(&balancer, 1);
            client.send(WAIT);
            busy.push(client);
        }
        let wanted = busy.len() as u64;
        wait::until("all are in use", || u64::from(balancer.server("a").in_flight) == wanted);
        if share.is_some() {
            assert_eq!(new_client_status(&balancer, 1), (429, "client-limit".into()), "{lines}");
            assert_eq!(new_client_status(&balancer, 2), (200, String::new()), "{lines}");
        } else {
            assert_eq!(
                new_client_status(&balancer, 1),
                (503, "connection-limit".into()),
                "{lines}"
            );
        }
    }
}

#[test]
fn silent_connections_give_way_where_a_name_is_waited_for_too() {
    let server = echo("e");
    let rule = "limit = { connections = 10 }\n[[service.shop.rule]]\nwhen = { sni = \"no.example\" }\ndeny = true\n";
    let setup = BalancerConfig::tcp(&[server.address()]).service(rule).global("workers = 1");
    let balancer = TestBalancer::start(&setup);
    let crowd =
        ConnectionFlood::start(balancer.front(), SourceAddresses::Many(200), (40, 100), b"");
    for last in 0..50 {
        let mut client = from(&balancer, last);
        client.send("here");
        assert_eq!(client.read_exactly(4), b"here");
    }
    crowd.stop();
    assert!(limit(&balancer, "evicted-silent") > 0);
}
