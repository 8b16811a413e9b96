//! Circuit breakers of the built program: shared by all workers, shown in status, report and metrics, and closed again
//! automatically.

use api::types::{BreakerStatus, PoolStatus};
use lab::origin::OriginFault;
use model::circuit_breaker::BreakerResource;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use super::{of_pool, refusal, steelyard};

/// A request whose response takes ten minutes.
const HELD: &str = "GET /delay/600000 HTTP/1.1\r\nHost: a\r\n\r\n";

fn web(balancer: &TestBalancer) -> PoolStatus {
    balancer.status().pools.into_iter().find(|pool| pool.name == "web").unwrap()
}

fn breaker(balancer: &TestBalancer, bound: BreakerResource) -> BreakerStatus {
    web(balancer).circuit_breakers.into_iter().find(|it| it.resource == bound).unwrap()
}

/// `count` clients whose requests the servers hold.
fn hold(balancer: &TestBalancer, count: u32) -> Vec<HttpClient> {
    let held: Vec<HttpClient> = (0..count).map(|_| balancer.client()).collect();
    held.iter().for_each(|client| {
        client.send(HELD);
    });
    wait::until("servers have them", || {
        let servers = web(balancer).servers;
        servers.iter().map(|server| server.in_flight).sum::<u32>() == count
    });
    held
}

#[test]
fn requests_are_limited_over_all_workers_and_the_breaker_is_reported() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins))
        .pool("circuit-breaker = { requests = 4, retries = 9 }");
    let balancer = TestBalancer::start(&setup.global("workers = 2"));
    let started = balancer.status().since_unix_ms;
    let closed = breaker(&balancer, BreakerResource::Requests);
    assert_eq!((closed.open, closed.since_unix_ms, closed.limit), (false, started, 4));
    let held = hold(&balancer, 4);
    // Every worker rejects requests.
    for _ in 0..8 {
        let mut client = balancer.client();
        assert_eq!(refusal(client.send_get("/")), (503, "circuit-open".into()));
    }
    let open = breaker(&balancer, BreakerResource::Requests);
    assert_eq!((open.open, open.in_use, open.refused), (true, 4, 8), "{open:?}");
    assert!(open.since_unix_ms > started, "{open:?}");
    let text = steelyard(&balancer, &["status"]);
    let row = text.lines().find(|line| line.starts_with("web requests")).unwrap();
    assert!(row.contains("4 of 4") && row.contains("open"), "{text}");
    let metrics = balancer.metrics();
    for line in [
        "steelyard_pool_breaker_refused_total{pool=\"web\",bound=\"requests\"} 8",
        "steelyard_pool_breaker_in_use{pool=\"web\",bound=\"requests\"} 4",
        "steelyard_pool_breaker_limit{pool=\"web\",bound=\"retries\"} 9",
    ] {
        assert!(metrics.contains(line), "no '{line}' in:\n{metrics}");
    }
    held.into_iter().for_each(HttpClient::reset);
    let mut client = balancer.client();
    wait::until("there is room", || client.get("/").status() == 200);
    wait::until("it is closed", || !breaker(&balancer, BreakerResource::Requests).open);
    let later = breaker(&balancer, BreakerResource::Requests);
    assert!(later.since_unix_ms > open.since_unix_ms && later.in_use == 0, "{later:?}");
    let report = balancer.report_when_idle();
    assert!(of_pool(&report, "breaker-requests") >= 8, "{report:?}");
    let cause = report.total.causes.iter().find(|it| it.cause == "circuit-open").unwrap();
    assert_eq!(cause.count.total, of_pool(&report, "breaker-requests"));
}

#[test]
fn connections_of_tcp_are_limited_and_refused_with_a_reset() {
    let origins = [tests::e2e::servers::echo("a")];
    let setup =
        BalancerConfig::tcp(&addresses(&origins)).pool("circuit-breaker = { connections = 2 }");
    let balancer = TestBalancer::start(&setup);
    let mut held: Vec<HttpClient> = (0..2).map(|_| balancer.client()).collect();
    for client in &mut held {
        client.send("hello");
        assert_eq!(client.read_exactly(5), b"hello");
    }
    // The reset may arrive before the connection is read.
    let third =
        HttpClient::try_connect(balancer.front()).and_then(|mut third| third.try_read_exactly(1));
    assert!(third.is_err(), "it is reset");
    let shown = breaker(&balancer, BreakerResource::Connections);
    assert_eq!((shown.open, shown.in_use, shown.refused), (true, 2, 1), "{shown:?}");
    held.pop().unwrap().reset();
    wait::until("its connection is closed", || {
        breaker(&balancer, BreakerResource::Connections).in_use == 1
    });
    let mut fourth = balancer.client();
    fourth.send("again");
    assert_eq!(fourth.read_exactly(5), b"again");
}

#[test]
fn idle_connections_of_one_worker_make_room_for_those_of_another() {
    let origins = [origin("a")];
    let setup =
        BalancerConfig::http(&addresses(&origins)).pool("circuit-breaker = { connections = 3 }");
    let balancer = TestBalancer::start(&setup.global("workers = 2"));
    // The kernel assigns clients to workers; with this many clients, both workers get some.
    let mut clients: Vec<HttpClient> = (0..32).map(|_| balancer.client()).collect();
    for client in &mut clients {
        wait::until("there is room", || client.get("/").status() == 200);
        assert!(breaker(&balancer, BreakerResource::Connections).in_use <= 3);
    }
}

#[test]
fn pending_requests_and_retries_are_limited_each_for_itself() {
    let origins = [origin("a"), origin("b")];
    let pool = "connections = 1\ntimeout = { queue = \"1h\" }\nlimit = { queue = 100 }\n\
                circuit-breaker = { pending = 2, retries = 0 }\nretry = { on = [503] }\neject = \"off\"";
    let setup = BalancerConfig::http(&addresses(&origins)).pool(pool);
    let balancer = TestBalancer::start(&setup.global("workers = 2"));
    let held = hold(&balancer, 2);
    let mut waiting = [balancer.client(), balancer.client()];
    waiting.iter_mut().for_each(|client| {
        client.send_get("/");
    });
    wait::until("two wait", || web(&balancer).waiting == 2);
    for _ in 0..4 {
        let mut client = balancer.client();
        assert_eq!(refusal(client.send_get("/")), (503, "circuit-open".into()));
    }
    let shown = breaker(&balancer, BreakerResource::Pending);
    assert_eq!((shown.open, shown.in_use, shown.refused), (true, 2, 4), "{shown:?}");
    assert!(!breaker(&balancer, BreakerResource::Retries).open);
    held.into_iter().for_each(HttpClient::reset);
    for client in &mut waiting {
        assert_eq!(client.read_answer().status(), 200);
    }
    // Without a second attempt, the server's own response is forwarded.
    origins.iter().for_each(|origin| origin.set_fault(Some(OriginFault::Status(503))).unwrap());
    let mut client = balancer.client();
    let answer = client.get("/");
    assert_eq!((answer.status(), answer.field("x-steelyard-cause")), (503, None));
    origins
        .iter()
        .for_each(|origin| origin.set_fault(Some(OriginFault::ResetBeforeAnswer)).unwrap());
    let mut client = balancer.client();
    assert_eq!(refusal(client.send_get("/")), (503, "circuit-open".into()));
    let report = balancer.report_when_idle();
    assert_eq!((of_pool(&report, "breaker-pending"), of_pool(&report, "retries")), (4, 0));
    assert_eq!(of_pool(&report, "breaker-retries"), 2);
}
