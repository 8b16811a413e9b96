//! The weight controller lowers a busy server's weight, slow start raises that of a returning server, and both are
//! explained.

use std::process::Command;

use api::types::ServerAction;
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

/// The output of `steelyard explain server`.
fn explained(balancer: &TestBalancer, what: &str) -> String {
    let mut command = Command::new(program());
    command.args(["explain", "server", what, "--socket"]).arg(balancer.dir().join("sock"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

// Rows: I12, Z12
#[test]
fn a_busy_server_loses_weight_and_the_arithmetic_is_shown() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins));
    let setup = setup.pool("balance = \"random\"\ndynamic-weights = { interval = \"100ms\" }");
    let balancer = TestBalancer::start(&setup);
    wait::until("both are like each other", || {
        balancer.server("a").weight == 10 && balancer.server("b").weight == 10
    });
    balancer.order_server("b", ServerAction::Drain);
    let held: Vec<_> = (0..12)
        .map(|_| {
            let client = balancer.client();
            client.send("GET /delay/600000 HTTP/1.1\r\nHost: a\r\n\r\n");
            client
        })
        .collect();
    wait::until("a is busy", || balancer.server("a").in_flight == 12);
    balancer.order_server("b", ServerAction::Enable);
    wait::until("a weighs less than b", || {
        balancer.server("a").weight < balancer.server("b").weight
    });
    let text = explained(&balancer, "web/a");
    for part in [
        "web/a at 127.0.0.1:",
        "state    up",
        "reason",
        "room",
        "in the file",
        "by the weight controller",
    ] {
        assert!(text.contains(part), "no '{part}' in:\n{text}");
    }
    let table = explained(&balancer, "web");
    for part in ["web/a", "web/b", "IN FLIGHT", "priority 1", "2 servers are available"] {
        assert!(table.contains(part), "no '{part}' in:\n{table}");
    }
    drop(held);
}

#[test]
fn a_server_that_comes_back_climbs() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins));
    let setup = setup.pool("balance = \"round-robin\"\nslow-start = \"1h\"");
    let balancer = TestBalancer::start(&setup);
    assert_eq!((balancer.server("a").weight, balancer.server("b").weight), (1, 1));
    balancer.order_server("b", ServerAction::Disable);
    wait::until("b is out", || balancer.server("b").state.name() == "disabled");
    balancer.order_server("b", ServerAction::Enable);
    wait::until("b has a tenth", || {
        (balancer.server("a").weight, balancer.server("b").weight) == (100, 10)
    });
    let mut client = balancer.client();
    let answers = (0..110).map(|_| client.get("/").field("x-origin").unwrap().to_owned());
    // A worker adopts the new schedule between two of its events, perhaps during these requests.
    let b = answers.filter(|name| name == "b").count();
    assert!((9..=11).contains(&b), "a tenth of a's share is {b} of 110");
    assert!(explained(&balancer, "web/b").contains("10 % of its share by slow start"));
}

#[test]
fn who_is_not_there_is_not_explained() {
    let origins = [origin("a")];
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)));
    let mut command = Command::new(program());
    command.args(["explain", "server", "web/x", "--socket"]).arg(balancer.dir().join("sock"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("web/a"), "{output:?}");
}
