//! The hours of rules are local time.

use std::time::{SystemTime, UNIX_EPOCH};

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::origin;

// Rows: I22
#[test]
fn hours_of_rules_are_local_time() {
    let web = origin("web");
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let hour = seconds / 3_600 % 24;
    // From two hours before to three hours after the time in a zone twelve hours ahead of UTC.
    let clock = |ahead: u64| format!("{:02}:00", (hour + ahead) % 24);
    let rule = format!(
        "[[service.shop.rule]]\nwhen = {{ hours = \"{}-{}\" }}\ndeny = true\n",
        clock(10),
        clock(15)
    );
    let setup = BalancerConfig::http(&[web.address()]).with_tables(&rule);
    for (zone, status) in [("ABC-12", 403), ("ABC0", 200)] {
        let balancer = TestBalancer::start_in_zone(zone, &setup);
        assert_eq!(balancer.client().get("/").status(), status, "{zone}");
    }
}
