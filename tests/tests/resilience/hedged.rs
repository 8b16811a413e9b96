//! Hedged requests: a second server gets the request while the first one is silent. Clients receive the faster
//! response, and the slower attempt is cancelled and counted at its server.

use lab::origin::OriginFault;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};

use super::of_pool;

#[test]
fn a_silent_server_costs_a_moment_and_not_its_time_limit() {
    let origins = [origin("a"), origin("b")];
    let pool = "balance = \"round-robin\"\neject = \"off\"\nhedge = \"30ms\"\n\
                timeout = { first-byte = \"1h\" }";
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).pool(pool));
    let mut client = balancer.client();
    origins[0].set_fault(Some(OriginFault::Silence)).unwrap();
    for _ in 0..8 {
        let answer = client.get("/");
        assert_eq!((answer.status(), answer.field("x-origin").as_deref()), (200, Some("b")));
    }
    let report = balancer.report_when_idle();
    let won = of_pool(&report, "hedges-won");
    assert!(won >= 3, "{report:?}");
    assert_eq!((of_pool(&report, "hedges"), of_pool(&report, "retries")), (won, won));
    let web = &report.pools[0];
    let silent = web.servers.iter().find(|server| server.name == "a").unwrap();
    let lost = silent.causes.iter().find(|it| it.cause == "hedge-lost").unwrap();
    assert_eq!(lost.count.total, won);
    assert_eq!(balancer.server("a").in_flight, 0, "what lost is cancelled");
    assert_eq!(report.total.requests.answered.total, 8);
    assert!(report.total.causes.is_empty(), "{:?}", report.total.causes);
}
