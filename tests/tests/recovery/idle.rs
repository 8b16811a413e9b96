//! A server that closes an idle connection just when the next request arrives.

use std::sync::Arc;
use std::time::Duration;

use lab::origin::{OriginKind, OriginOptions, RequestIdLog};
use tests::e2e::balancer::{TestBalancer, figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::load::{get_plan, paced, post_plan, start};
use tests::e2e::servers::start_with;

#[test]
fn no_get_fails_and_no_post_comes_twice_when_idle_connections_are_closed() {
    let mut options = OriginOptions::new("a", OriginKind::Http { body: 128 });
    options.idle_close = Some(Duration::from_secs(1));
    let seen = Arc::new(RequestIdLog::default());
    options.request_log = Arc::clone(&seen);
    let origin = start_with(options);
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).quiet());
    let (connections, rounds) = if is_long() { (60, 120) } else { (20, 7) };
    let mut loads = Vec::new();
    for (at, think) in [985, 998, 1_001, 1_015].map(Duration::from_millis).into_iter().enumerate() {
        let each = connections / 4;
        let requests = each as u64 * rounds;
        let first = 1 + at as u64 * 1_000_000;
        loads.push((true, start(paced(post_plan(balancer.front(), each, first), think, requests))));
        loads.push((false, start(paced(get_plan(balancer.front(), "/", each), think, requests))));
    }
    let mut posted = (0, 0);
    let mut got = (0, 0);
    for (is_post, load) in loads {
        let report = load.wait();
        let sum = if is_post { &mut posted } else { &mut got };
        *sum = (sum.0 + report.answered, sum.1 + report.failed);
    }
    let twice = seen.arrivals().duplicated_posts;
    let report = balancer.report_when_settled();
    let server = &report.pools[0].servers[0];
    figure(format_args!(
        "a server closes after 1 s, requests about 1 s apart: {} GETs, {} failed; {} POSTs, {} failed, {twice} arrived \
         twice; {} sent on kept connections, {} found stale, {} retired, {} replayed",
        got.0 + got.1,
        got.1,
        posted.0 + posted.1,
        posted.1,
        server.reused.total,
        server.stale.total,
        server.retired.total,
        report.total.replayed.total
    ));
    assert_eq!((got.1, twice), (0, 0));
    let races = server.stale.total + server.retired.total + report.total.replayed.total;
    assert!(races > 0, "no idle connection was ever near its end");
    assert!(posted.1 * 100 <= posted.0, "more than 1 % of POSTs failed: {posted:?}");
    assert_eq!(
        (got.0, posted.0 + posted.1),
        (connections as u64 * rounds, connections as u64 * rounds)
    );
    assert_eq!(report.total.requests.unaccounted, 0);
}
