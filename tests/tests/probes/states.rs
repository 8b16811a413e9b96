//! An accepting port is not healthy by itself: hanging, slow responses, garbage and rejections, each with its evidence.

use api::types::Source;
use model::snapshot::ServerState;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;

use super::fake_servers::{
    FakeBehaviour, FakeServer, TIMES, balancer, count_events, events, wait_until_down,
    wait_until_up,
};

#[test]
fn a_server_that_accepts_and_is_not_ready_is_down_and_says_why() {
    let not_ready: [(&str, FakeBehaviour, &str); 8] = [
        ("smtp = true", FakeBehaviour::Greet(b"421 shutting down\r\n".into()), "421 shutting down"),
        (
            "imap = true",
            FakeBehaviour::Greet(b"* BYE too many users\r\n".into()),
            "BYE too many users",
        ),
        ("redis = true", FakeBehaviour::Reply(b"-LOADING data set\r\n".into()), "LOADING"),
        ("http = \"/\"", FakeBehaviour::Reply(b"HTTP/1.1 503 Busy\r\n\r\n".into()), "status 503"),
        ("http = \"/\"", FakeBehaviour::Hang, "no answer within 200 ms"),
        (
            "pop3 = true",
            FakeBehaviour::Dribble(b"+OK ready to serve\r\n".into()),
            "no greeting within 200 ms",
        ),
        ("postgres = true", FakeBehaviour::Reply(b"rubbish\n".into()), "is not postgres"),
        (
            "tcp = true, tls = { verify = false }",
            FakeBehaviour::Reply(b"rubbish\n".into()),
            "tls: ",
        ),
    ];
    for (probe, manner, why) in not_ready {
        let fake = FakeServer::start(manner);
        let balancer = balancer(fake.address(), probe);
        let server = wait_until_down(&balancer, why);
        assert_eq!(server.reason.source, Source::Probe, "{server:?}");
        assert!(server.reason.at_unix_ms > 0 && server.since_unix_ms > 0);
    }
}

#[test]
fn a_server_that_recovers_is_up_again_with_new_evidence() {
    let fake = FakeServer::start(FakeBehaviour::Reply(b"-LOADING\r\n".into()));
    let balancer = balancer(fake.address(), "redis = true");
    wait_until_down(&balancer, "LOADING");
    fake.change(FakeBehaviour::Reply(b"+PONG\r\n".into()));
    wait_until_up(&balancer, "redis +PONG in ");
    fake.change(FakeBehaviour::Hang);
    wait_until_down(&balancer, "no answer to PING within 200 ms");
    drop(fake);
    wait_until_down(&balancer, "connection refused");
    assert!(count_events(&balancer, "server-down") >= 2);
    assert_eq!(count_events(&balancer, "server-up"), 1);
    for event in events(&balancer, "server-down") {
        let about = |what: &str| event.about.get(what).cloned().unwrap_or_default();
        assert!(about("probe").starts_with("redis at 127.0.0.1:"), "{event:?}");
        assert!(!about("saw").is_empty() && about("took-us").parse::<u64>().is_ok(), "{event:?}");
    }
}

// Rows: I18
#[test]
fn a_pools_probe_is_overridden_key_by_key() {
    let good = FakeServer::start(FakeBehaviour::Greet(b"220 mx\r\n".into()));
    let bad = FakeServer::start(FakeBehaviour::Hang);
    let setup = BalancerConfig::tcp(&[good.address(), bad.address()])
        .server("c", bad.address(), &format!(", probe = {{ port = {} }}", good.address().port()))
        .pool(&format!("probe = {{ tcp = true, expect = \"^220\", {TIMES} }}"));
    let setup = setup.without_server("a").server("a", good.address(), "");
    let balancer = TestBalancer::start(&setup);
    wait_until_up(&balancer, "tcp 220");
    tests::e2e::wait::until("b down, c up", || {
        let state = |name| balancer.server(name).state;
        state("b") == ServerState::Down && state("c") == ServerState::Up
    });
}

// Rows: Z06
#[test]
fn connections_are_kept_or_cut_when_their_server_goes_down() {
    use std::io::Read;
    for (on_down, cut) in [("keep", false), ("cut", true)] {
        let health = FakeServer::start(FakeBehaviour::Reply(b"+PONG\r\n".into()));
        let origin = FakeServer::start(FakeBehaviour::Greet(b"hello".into()));
        let port = health.address().port();
        let probe = format!("redis = true, port = {port}, on-down = \"{on_down}\"");
        let balancer = balancer(origin.address(), &probe);
        wait_until_up(&balancer, "PONG");
        let mut client = std::net::TcpStream::connect(balancer.front()).unwrap();
        let mut hello = [0; 5];
        client.read_exact(&mut hello).unwrap();
        health.change(FakeBehaviour::Reply(b"-LOADING\r\n".into()));
        wait_until_down(&balancer, "LOADING");
        let patience =
            if cut { tests::e2e::wait::DEADLINE } else { std::time::Duration::from_millis(300) };
        client.set_read_timeout(Some(patience)).unwrap();
        let read = client.read(&mut hello);
        let waited = matches!(&read, Err(e) if e.kind() == std::io::ErrorKind::WouldBlock);
        assert_eq!(waited, !cut, "{on_down}: {read:?}");
        assert_eq!(count_events(&balancer, "server-cut"), usize::from(cut));
    }
}
