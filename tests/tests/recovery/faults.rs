//! Servers that fail in one response: each fault has a cause, and requests are retried where that is allowed.

use lab::origin::OriginFault;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use super::ended_by;

const PATIENCE: &str = "timeout = { first-byte = \"1500ms\", between-bytes = \"1500ms\" }";

#[test]
fn each_fault_of_an_answer_has_its_status_and_cause() {
    let rows = [
        (OriginFault::Status(500), 500, ""),
        (OriginFault::Status(404), 404, ""),
        (OriginFault::Garbage, 502, "bad-response"),
        (OriginFault::CloseBeforeAnswer, 502, "server-closed"),
        (OriginFault::ResetBeforeAnswer, 502, "server-reset"),
        (OriginFault::Silence, 504, "first-byte-timeout"),
    ];
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).pool(PATIENCE));
    for (fault, status, cause) in rows {
        origin.set_fault(Some(fault)).unwrap();
        let mut client = balancer.client();
        let answer = client.post("/", b"once");
        let named = answer.field("x-steelyard-cause").unwrap_or_default();
        assert_eq!((answer.status(), named.as_str()), (status, cause), "{fault:?}");
        origin.set_fault(None).unwrap();
        assert_eq!(
            client.get("/").status(),
            200,
            "the client's connection goes on after {fault:?}"
        );
    }
    let report = balancer.report_when_idle();
    for (_, _, cause) in rows.iter().filter(|row| !row.2.is_empty()) {
        assert_eq!(ended_by(&report, cause), 1, "{cause}");
    }
    assert_eq!(report.total.retried.total + report.total.replayed.total, 0, "no POST was repeated");
}

#[test]
fn an_answer_that_breaks_off_does_not_look_whole() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).pool(PATIENCE));
    for fault in [OriginFault::CloseMidAnswer, OriginFault::ResetMidAnswer] {
        origin.set_fault(Some(fault)).unwrap();
        let mut client = balancer.client();
        client.send_get("/");
        assert_eq!(client.read_answer_head().status(), 200);
        assert!(client.read_to_end_or_reset().is_err(), "{fault:?}");
    }
    let report = balancer.report_when_idle();
    assert_eq!(
        (ended_by(&report, "response-truncated"), report.total.requests.aborted.total),
        (2, 2)
    );
}

/// Retries a request when a server does not respond or sends a malformed response.
const AGAIN: &str = "retry = { on-timeout = true, on-malformed = true }\n";

#[test]
fn what_may_be_repeated_is_answered_by_another_server() {
    let origins = [origin("a"), origin("b")];
    // Every fault must occur, so no server may be ejected after the first ones.
    let pool = format!("balance = \"round-robin\"\neject = \"off\"\n{AGAIN}{PATIENCE}");
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).pool(&pool));
    let faults = [
        OriginFault::Garbage,
        OriginFault::CloseBeforeAnswer,
        OriginFault::ResetBeforeAnswer,
        OriginFault::Silence,
    ];
    for fault in faults {
        origins[0].set_fault(Some(fault)).unwrap();
        let mut client = balancer.client();
        for _ in 0..4 {
            let answer = client.get("/");
            assert_eq!((answer.status(), answer.field("x-origin").as_deref()), (200, Some("b")));
        }
    }
    let total = balancer.report_when_idle().total;
    assert_eq!((total.requests.answered.total, total.requests.local_replies.total), (16, 0));
    assert!(total.retried.total + total.replayed.total >= 8, "{total:?}");
}

// Rows: Z04
#[test]
fn a_server_that_hangs_costs_its_time_and_no_request() {
    let origins = [origin("a"), origin("b")];
    let pool = format!("{AGAIN}{PATIENCE}");
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).pool(&pool));
    let mut client = balancer.client();
    client.get("/");
    origins[0].set_hung(true).unwrap();
    for _ in 0..6 {
        assert_eq!(client.get("/").field("x-origin").as_deref(), Some("b"));
    }
    origins[0].set_hung(false).unwrap();
    wait::until("it takes part again", || client.get("/").field("x-origin").unwrap() == "a");
}
