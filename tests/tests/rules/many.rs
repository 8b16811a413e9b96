//! Thousands of rules: activated while requests are in progress, and found by an index instead of a scan.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::steady_traffic::{self, SteadyTraffic};

/// Rules that no request of the load matches, and one that it does.
fn rules(count: usize, mark: &str) -> String {
    let one = |n: usize| {
        format!(
            "[[service.shop.rule]]\nwhen = {{ host = \"h{}.example\", path = \"/p{n}/*\" }}\npool = \"web\"\n",
            n % 50
        )
    };
    let mut text: String = (0..count).map(one).collect();
    text.push_str(&format!(
        "[[service.shop.rule]]\nname = \"kept\"\nwhen = {{ path = \"/bytes/7\" }}\npool = \"web\"\n\
         [[service.shop.rule]]\nname = \"mark\"\nwhen = {{ path = \"/mark\" }}\nanswer = {{ status = 200, body = \"{mark}\" }}\n"
    ));
    text
}

#[test]
fn three_thousand_rules_come_and_go_under_load_and_no_request_fails() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).quiet();
    let mut balancer = TestBalancer::start(&setup.clone().with_tables(&rules(0, "0")));
    assert_eq!(HttpClient::connect(balancer.front()).get("/bytes/7").status(), 200);
    let steady = SteadyTraffic::start(balancer.front());
    for (number, count) in [3_000, 10, 3_000, 2_999].into_iter().enumerate() {
        let mark = format!("m{number}");
        balancer.reload(&setup.clone().with_tables(&rules(count, &mark)));
        assert_eq!(HttpClient::connect(balancer.front()).get("/mark").text(), mark);
        steady.wait_for_progress();
    }
    let felt = steady.stop();
    assert_eq!(felt.failures, Vec::<String>::new());
    for report in [&felt.keep_alive, &felt.connect_each] {
        assert_eq!(steady_traffic::failures(report).count(), 0);
    }
    let report = balancer.report();
    let kept = report.services[0].rules.iter().find(|rule| rule.name == "kept").unwrap();
    assert_eq!((kept.position, kept.hits), (3_000, 1), "its count stayed through four changes");
}
