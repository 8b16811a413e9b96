//! A pool without any server, and the return of the first server.

use std::time::{Duration, Instant};

use model::snapshot::ServerState;
use tests::e2e::balancer::{TestBalancer, figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use super::ended_by;

/// The longest wait of a client after the first server has returned.
const BACK: Duration = Duration::from_millis(300);

#[test]
fn an_outage_has_its_cause_and_ends_with_the_first_server() {
    // The regular interval of health checks is so long that only the shorter interval after a failure can detect the
    // return.
    outage(
        "probe = { http = \"/healthz\", interval = \"10m\", fast-interval = \"250ms\", fall = 2 }",
        "probe",
    );
}

#[test]
fn an_outage_ends_as_soon_where_nobody_probes() {
    outage("", "no probe");
}

fn outage(pool: &str, what: &str) {
    let origins = [origin("a"), origin("b")];
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).pool(pool).quiet());
    let mut client = balancer.client();
    assert_eq!(client.get("/").status(), 200);
    let rounds = if is_long() { 100 } else { 3 };
    let mut waits = Vec::new();
    for round in 0..rounds {
        for origin in &origins {
            origin.kill().unwrap();
        }
        // Requests reveal the failure. After that, requests are rejected without an attempt.
        wait::until("no server is left", || {
            let answer = client.get("/");
            assert!(matches!(answer.status(), 502 | 503), "{answer:?}");
            answer.field("x-steelyard-cause").as_deref() == Some("no-server")
        });
        for name in ["a", "b"] {
            let server = balancer.server(name);
            assert_eq!(server.state, ServerState::Down, "{server:?}");
            assert!(server.reason.text.contains("refused"), "{server:?}");
        }
        let back = &origins[round % 2];
        back.revive().unwrap();
        let begun = Instant::now();
        wait::until("the first success", || client.get("/").status() == 200);
        waits.push(begun.elapsed());
        origins[1 - round % 2].revive().unwrap();
    }
    waits.sort();
    let median = waits[waits.len() / 2];
    let most = waits[waits.len() - 1];
    figure(format_args!(
        "{what}: {rounds} outages, first success {median:.0?} after the first server is back (median), {most:.0?} at most"
    ));
    if is_long() {
        assert!(most <= BACK, "{waits:?}");
    }
    drop(client);
    let report = balancer.report_when_settled();
    assert!(ended_by(&report, "no-server") > 0);
    assert_eq!(report.total.requests.unaccounted, 0);
}
