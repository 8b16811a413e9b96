//! Every server fails half of its requests. Servers get no more retries than the budget allows, clients get the benefit
//! of those, and no server is ejected for failures that all share.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tests::e2e::balancer::{TestBalancer, figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::http::{ExpectedBody, HttpReader};
use tests::e2e::load;
use tests::e2e::recording_server::ScriptedServer;

use super::{of_pool, rate, steady};

/// Answers every second request, and closes the connection without a response for the others.
fn half(got: Arc<AtomicU64>) -> ScriptedServer {
    let own = AtomicU64::new(0);
    ScriptedServer::start(move |stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(mut request)) = reader.head() {
            if reader.body(&mut request, ExpectedBody::AsDeclared).is_err() {
                return;
            }
            got.fetch_add(1, Ordering::Relaxed);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            if own.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)
                || (&stream).write_all(answer).is_err()
            {
                return;
            }
        }
    })
}

#[test]
fn the_budget_bounds_what_servers_get_and_is_used() {
    let got = Arc::new(AtomicU64::new(0));
    let servers: Vec<ScriptedServer> = (0..3).map(|_| half(got.clone())).collect();
    let addresses: Vec<_> = servers.iter().map(ScriptedServer::address).collect();
    // The default minimum of ten retries a second is a tenth of the short run's load, so that run uses one.
    let retry = if is_long() { "" } else { "retry = { min-per-second = 1 }" };
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses).pool(retry).quiet());
    let load = steady(balancer.front());
    load::wait_for_answers(&load, if is_long() { 30 } else { 4 } * rate());
    let seen = load::stop(load);
    let offered = got.load(Ordering::Relaxed);
    let report = balancer.report_when_idle();
    figure(format_args!(
        "half: {} requests, {offered} offered to servers, {} answered; {} further attempts, {} refused",
        seen.requests,
        seen.answered,
        of_pool(&report, "retries"),
        of_pool(&report, "retries-refused")
    ));
    assert!(offered * 100 <= seen.requests * 125, "{offered} offered for {}", seen.requests);
    assert!(seen.answered * 1000 >= offered * 475, "{} of {offered}", seen.answered);
    assert!(of_pool(&report, "retries-refused") > 0, "{report:?}");
    let causes = &report.total.causes;
    assert!(causes.iter().any(|it| it.cause == "retry-budget"), "{causes:?}");
    for name in ["a", "b", "c"] {
        assert_eq!(balancer.server(name).state.name(), "up");
    }
}
