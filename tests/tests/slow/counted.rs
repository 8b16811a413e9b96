//! The numbers of `explain slow`: all of little traffic is measured and said so, and what a sample stands for is what was
//! counted.

use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::load;
use tests::e2e::wait;

use super::setup::server;

fn explain(balancer: &TestBalancer, arguments: &[&str]) -> String {
    balancer.cli_output(&[&["explain", "slow", "shop", "--share", "100"], arguments].concat())
}

/// The service's report, once so many exchanges were counted.
fn report(balancer: &TestBalancer, exchanges: u64) -> Value {
    wait::until_some(&format!("{exchanges} exchanges"), || {
        let told: Value = serde_json::from_str(&explain(balancer, &["--json"])).unwrap();
        let service = told["services"].get(0)?.clone();
        (service["exchanges"].as_f64()?.round() as u64 == exchanges).then_some(service)
    })
}

#[test]
fn all_of_little_traffic_is_measured_and_said_so() {
    let origin = server();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    let mut client = balancer.client();
    for target in ["/5", "/5", "/5", "/5", "/5/150", "/5/150"] {
        assert_eq!(client.get(target).status(), 200);
    }
    let service = report(&balancer, 6);
    assert_eq!((&service["exchanges"], &service["sampled"]), (&6.0.into(), &6.into()));
    assert_eq!(service["slowest"], 6.0, "{service:#}");
    let text = explain(&balancer, &[]);
    for part in ["100 % of 6 exchanges in", "\n  6 took ", "6 of 6 exchanges were measured"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("about"), "{text}");
}

#[test]
fn a_sample_of_much_traffic_stands_for_what_was_counted() {
    let origin = server();
    let setup = BalancerConfig::http(&[origin.address()]).quiet().global("sample = 64");
    let balancer = TestBalancer::start(&setup);
    let requests = 3_000;
    let plan = load::get_plan(balancer.front(), "/5", 4);
    let load = load::start(load::paced(plan, std::time::Duration::ZERO, requests));
    assert_eq!(load.wait().answered, requests);
    let service = report(&balancer, requests);
    let sampled = service["sampled"].as_u64().unwrap();
    assert!(sampled < requests, "{service:#}");
    let slowest = service["slowest"].as_f64().unwrap();
    assert!((slowest - requests as f64).abs() < 1.0, "all of them: {service:#}");
    let text = explain(&balancer, &[]);
    for part in ["100 % of about 3,000 exchanges", " of 3,000 exchanges were measured"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}
