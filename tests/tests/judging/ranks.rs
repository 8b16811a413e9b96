//! Backup servers take over and give back, spill-over adds the next priority, and a header hash selects a stable
//! server.

use std::collections::BTreeSet;

use api::types::ServerAction;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};

/// The servers that answer `requests` requests on one connection.
fn answering(balancer: &TestBalancer, requests: usize) -> BTreeSet<String> {
    let mut client = balancer.client();
    (0..requests).map(|_| client.get("/").field("x-origin").unwrap().to_owned()).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

// Rows: Z12
#[test]
fn backups_take_over_and_give_back() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let setup = BalancerConfig::http(&[])
        .server("a", origins[0].address(), "")
        .server("b", origins[1].address(), ", backup = true")
        .server("c", origins[2].address(), ", last-resort = true")
        .pool("balance = \"round-robin\"");
    let balancer = TestBalancer::start(&setup);
    assert_eq!(answering(&balancer, 12), names(&["a"]));
    balancer.order_server("a", ServerAction::Disable);
    assert_eq!(answering(&balancer, 12), names(&["b"]));
    balancer.order_server("b", ServerAction::Disable);
    assert_eq!(answering(&balancer, 12), names(&["c"]), "the last resort");
    balancer.order_server("b", ServerAction::Enable);
    assert_eq!(answering(&balancer, 12), names(&["b"]));
    balancer.order_server("a", ServerAction::Enable);
    assert_eq!(answering(&balancer, 12), names(&["a"]));
}

// Rows: Z05
#[test]
fn the_next_priority_helps_while_too_little_is_up() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let setup = BalancerConfig::http(&[])
        .server("a", origins[0].address(), "")
        .server("b", origins[1].address(), "")
        .server("c", origins[2].address(), ", priority = 2")
        .pool("balance = \"round-robin\"\nspill-over = 60");
    let balancer = TestBalancer::start(&setup);
    assert_eq!(answering(&balancer, 12), names(&["a", "b"]));
    balancer.order_server("b", ServerAction::Disable);
    assert_eq!(answering(&balancer, 12), names(&["a", "c"]));
    balancer.order_server("b", ServerAction::Enable);
    assert_eq!(answering(&balancer, 12), names(&["a", "b"]));
}

#[test]
fn a_header_keeps_its_server() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let setup = BalancerConfig::http(&addresses(&origins));
    let setup = setup.pool("balance = \"maglev\"\nhash-on = { header = \"x-user\" }");
    let balancer = TestBalancer::start(&setup);
    let server_of = |user: usize| {
        let mut client = balancer.client();
        client.send(format!("GET / HTTP/1.1\r\nHost: shop\r\nX-User: u{user}\r\n\r\n"));
        client.read_answer().field("x-origin").unwrap().to_owned()
    };
    let first: Vec<String> = (0..12).map(server_of).collect();
    let again: Vec<String> = (0..12).map(server_of).collect();
    assert_eq!(first, again);
    let used: BTreeSet<&String> = first.iter().collect();
    assert!(used.len() > 1, "twelve users on one server: {first:?}");
}
