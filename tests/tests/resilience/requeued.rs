//! Requests that wait for a server move to another one when that server is declared down or removed.

use api::types::ServerAction;
use lab::origin::OriginFault;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use super::of_pool;

#[test]
fn from_a_server_whose_probe_fails_while_their_answers_are_awaited() {
    let origins = [origin("a"), origin("b")];
    let pool = "balance = \"round-robin\"\ntimeout = { first-byte = \"1h\" }\n\
                probe = { http = \"/\", interval = \"500ms\", timeout = \"500ms\", fall = 3 }";
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).pool(pool));
    wait::until("both are up", || {
        ["a", "b"].iter().all(|name| balancer.server(name).state.name() == "up")
    });
    origins[0].set_fault(Some(OriginFault::Silence)).unwrap();
    let mut clients: Vec<_> = (0..8).map(|_| balancer.client()).collect();
    clients.iter_mut().for_each(|client| {
        client.send_get("/");
    });
    for client in &mut clients {
        let answer = client.read_answer();
        assert_eq!((answer.status(), answer.field("x-origin").as_deref()), (200, Some("b")));
    }
    let report = balancer.report_when_idle();
    assert!(of_pool(&report, "moved") > 0, "{report:?}");
    assert_eq!(report.total.requests.answered.total, 8);
}

#[test]
fn from_the_queue_of_their_own_server_when_that_is_taken_away() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins))
        .service("sticky = { by = \"header\", name = \"x-user\", expire = \"1h\" }")
        .pool("connections = 1\ntimeout = { queue = \"1h\" }");
    let balancer = TestBalancer::start(&setup);
    let asks = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\nX-User: one\r\n\r\n");
    let mut first = balancer.client();
    first.send(asks("/"));
    let own = first.read_answer().field("x-origin").unwrap();
    first.send(asks("/delay/600000"));
    wait::until("it has one in flight", || balancer.server(&own).in_flight == 1);
    let mut second = balancer.client();
    second.send(asks("/"));
    wait::until("the second one waits", || balancer.report().total.requests.in_flight == 2);
    balancer.order_server(&own, ServerAction::Disable);
    let answer = second.read_answer();
    assert_eq!(answer.status(), 200);
    assert_ne!(answer.field("x-origin").unwrap(), own);
}
