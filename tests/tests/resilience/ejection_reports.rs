//! The reports of an ejected server: its state with the arithmetic, the explanation, events, metrics, and its return.

use lab::origin::OriginFault;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use super::steelyard;

#[test]
fn what_is_put_out_is_explained_and_comes_back() {
    let origins = [origin("a"), origin("b")];
    let pool = "balance = \"round-robin\"\nretry = { on = [503] }\neject = { base-time = \"3s\", max-time = \"3s\" }";
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).pool(pool));
    let mut client = balancer.client();
    for _ in 0..4 {
        client.get("/");
    }
    wait::until("it is looked at", || {
        steelyard(&balancer, &["explain", "server", "web/a"]).contains("ejection good: ")
    });
    origins[0].set_fault(Some(OriginFault::Status(503))).unwrap();
    wait::until("it is put out", || {
        assert_eq!(client.get("/").status(), 200, "every answer is another server's");
        balancer.server("a").state.name() == "down"
    });
    let text = steelyard(&balancer, &["explain", "server", "web/a"]);
    for part in
        ["ejected for failures in a row: ", "0 of 2 out, 1 allowed", "for 5 failures in a row"]
    {
        assert!(text.contains(part), "no '{part}' in:\n{text}");
    }
    assert!(
        balancer
            .process()
            .output()
            .contains("server-ejected: web/a: ejected for failures in a row")
    );
    let report = steelyard(&balancer, &["report"]);
    assert!(report.contains("statuses-retried"), "{report}");
    origins[0].set_fault(None).unwrap();
    wait::until("it comes back", || balancer.server("a").state.name() == "up");
    wait::until("its return is told", || {
        balancer.process().output().contains("server-readmitted: web/a")
    });
    wait::until("with a part of its share", || {
        steelyard(&balancer, &["explain", "server", "web/a"]).contains("of its share by slow start")
    });
    assert_eq!(balancer.server("b").state.name(), "up");
}

#[test]
fn the_last_server_is_never_put_out() {
    let origins = [origin("a")];
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)));
    origins[0].set_fault(Some(OriginFault::Status(503))).unwrap();
    let mut client = balancer.client();
    for _ in 0..50 {
        assert_eq!(client.get("/").status(), 503);
    }
    assert_eq!(balancer.server("a").state.name(), "up");
}
