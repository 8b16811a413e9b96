//! The distribution of requests to servers, as a client sees it.

use std::collections::BTreeMap;

use api::types::ServerAction;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::tools::curl_text;
use tests::e2e::wait;

/// How many of `requests` requests on one connection each server answers.
fn shares(balancer: &TestBalancer, requests: usize) -> BTreeMap<String, usize> {
    let mut client = balancer.client();
    let mut shares = BTreeMap::new();
    for _ in 0..requests {
        *shares.entry(client.get("/").field("x-origin").unwrap()).or_default() += 1;
    }
    shares
}

fn of(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

// Rows: I08
#[test]
fn round_robin_gives_exactly_what_the_weights_say() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let setup = BalancerConfig::http(&[])
        .server("a", origins[0].address(), ", weight = 5")
        .server("b", origins[1].address(), "")
        .server("c", origins[2].address(), ", weight = 0")
        .pool("balance = \"round-robin\"");
    let balancer = TestBalancer::start(&setup);
    assert_eq!(shares(&balancer, 60), of(&[("a", 50), ("b", 10)]));
}

#[test]
fn orders_change_the_shares_while_it_runs() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).pool("balance = \"round-robin\"");
    let balancer = TestBalancer::start(&setup);
    assert_eq!(shares(&balancer, 20), of(&[("a", 10), ("b", 10)]));
    balancer.order_server("b", ServerAction::Weight { weight: Some(3) });
    assert_eq!(shares(&balancer, 40), of(&[("a", 10), ("b", 30)]));
    balancer.order_server("b", ServerAction::Weight { weight: Some(0) });
    assert_eq!(shares(&balancer, 10), of(&[("a", 10)]));
    balancer.order_server("b", ServerAction::Weight { weight: Some(1) });
    balancer.order_server("a", ServerAction::Drain);
    assert_eq!(shares(&balancer, 10), of(&[("b", 10)]));
    balancer.order_server("a", ServerAction::Enable);
    balancer.order_server("b", ServerAction::Disable);
    assert_eq!(shares(&balancer, 10), of(&[("a", 10)]));
    balancer.order_server("b", ServerAction::Enable);
    assert_eq!(shares(&balancer, 20), of(&[("a", 10), ("b", 10)]));
}

#[test]
fn least_request_avoids_the_server_that_is_busy() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).pool("balance = \"least-request\"");
    let balancer = TestBalancer::start(&setup);
    let busy = balancer.client();
    busy.send("GET /delay/600000 HTTP/1.1\r\nHost: a\r\n\r\n");
    let held = || ["a", "b"].into_iter().find(|name| balancer.server(name).in_flight == 1);
    let other = if wait::until_some("a busy server", held) == "a" { "b" } else { "a" };
    assert_eq!(shares(&balancer, 30), of(&[(other, 30)]));
}

#[test]
fn random_uses_every_server() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).pool("balance = \"random\"");
    let balancer = TestBalancer::start(&setup);
    let shares = shares(&balancer, 400);
    assert!(shares["a"] > 100 && shares["b"] > 100, "{shares:?}");
}

/// The server that answers a client with this address.
fn server_of(balancer: &TestBalancer, client: &str) -> String {
    let url = balancer.url("/");
    let head = curl_text(&["--interface", client, "-D", "-", "-o", "/dev/null", &url]);
    let named = head.lines().find_map(|line| line.strip_prefix("x-origin: "));
    named.unwrap_or_else(|| panic!("{head}")).trim().to_owned()
}

#[test]
fn maglev_keeps_a_clients_server_and_moves_few_when_one_goes() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let setup = BalancerConfig::http(&addresses(&origins)).pool("balance = \"maglev\"");
    let mut balancer = TestBalancer::start(&setup);
    let clients: Vec<String> = (1..=30).map(|host| format!("127.0.7.{host}")).collect();
    let map = |balancer: &TestBalancer| -> BTreeMap<String, String> {
        clients.iter().map(|client| (client.clone(), server_of(balancer, client))).collect()
    };
    let before = map(&balancer);
    assert_eq!(map(&balancer), before, "the same clients come to the same servers");
    for name in ["a", "b", "c"] {
        assert!(before.values().any(|server| server == name), "{name} has no client: {before:?}");
    }
    balancer.reload(&setup.without_server("c"));
    let after = map(&balancer);
    let stayed = before.iter().filter(|(_, server)| *server != "c");
    let (kept, moved): (Vec<_>, Vec<_>) = stayed.partition(|(client, was)| after[*client] == **was);
    assert!(moved.len() * 5 <= kept.len(), "moved: {moved:?}");
    assert!(after.values().all(|server| server != "c"));
}

#[test]
fn source_looks_at_the_network_of_the_client() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let setup = BalancerConfig::http(&addresses(&origins));
    let setup = setup.pool("balance = { by = \"source\", mask4 = 24 }");
    let balancer = TestBalancer::start(&setup);
    let mut used = std::collections::BTreeSet::new();
    for network in 1..=12 {
        let servers =
            [1, 77, 254].map(|host| server_of(&balancer, &format!("127.9.{network}.{host}")));
        assert!(servers.iter().all(|server| *server == servers[0]), "{network}: {servers:?}");
        used.insert(servers[0].clone());
    }
    assert!(used.len() > 1, "12 networks on one server: {used:?}");
}
