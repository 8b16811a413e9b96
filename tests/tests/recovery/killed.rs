//! A server is killed under load.

use std::sync::Arc;

use lab::load::FailureCause;
use lab::origin::{OriginKind, OriginOptions, RequestIdLog, TestOrigin};
use model::snapshot::ServerState;
use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::load::{echo_plan, get_plan, post_plan, start, stop, wait_for_answers};
use tests::e2e::nginx::Nginx;
use tests::e2e::servers::{addresses, echo, origin, start_with};
use tests::e2e::wait;

use super::{ended_by, server, wrong_at};

#[test]
fn a_killed_nginx_costs_no_request_that_may_be_repeated() {
    let mut nginx = [Nginx::start("n1"), Nginx::start("n2"), Nginx::start("n3")];
    let servers: Vec<_> = nginx.iter().map(Nginx::address).collect();
    let pool = "probe = { http = \"/\", interval = \"200ms\", timeout = \"200ms\", fast-interval = \"50ms\" }";
    let balancer = TestBalancer::start(&BalancerConfig::http(&servers).pool(pool).quiet());
    let load = start(get_plan(balancer.front(), "/", 32));
    for round in 0..2 {
        wait_for_answers(&load, 500);
        nginx[round].kill();
        wait_for_answers(&load, 2_000);
        nginx[round].revive();
        wait::until("it takes work again", || {
            balancer.server(["a", "b"][round]).state == ServerState::Up
        });
    }
    let seen = stop(load);
    let report = balancer.report_when_settled();
    let died = wrong_at(&report, "a") + wrong_at(&report, "b");
    figure(format_args!(
        "nginx killed twice under load: {} GETs answered, {} failed; {died} attempts died by name: {:?} {:?}",
        seen.answered,
        seen.failed,
        server(&report, "a").causes.iter().map(|c| (&c.cause, c.count.total)).collect::<Vec<_>>(),
        server(&report, "b").causes.iter().map(|c| (&c.cause, c.count.total)).collect::<Vec<_>>(),
    ));
    assert_eq!(seen.failed, 0, "{:?}", seen.failed_by_cause);
    assert_eq!(report.total.requests.answered.total, seen.answered);
    assert_eq!(report.total.requests.unaccounted, 0);
    assert!(died > 0, "nothing died: the kill was not under load");
    assert_eq!(report.total.retried.total + report.total.replayed.total, died);
    assert_eq!(wrong_at(&report, "c"), 0, "the others notice nothing");
}

#[test]
fn a_reset_server_repeats_no_post() {
    let seen = Arc::new(RequestIdLog::default());
    let origins: Vec<TestOrigin> = ["a", "b", "c"]
        .map(|name| {
            let mut options = OriginOptions::new(name, OriginKind::Http { body: 128 });
            options.request_log = Arc::clone(&seen);
            start_with(options)
        })
        .into();
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).quiet());
    let posting = start(post_plan(balancer.front(), 16, 1));
    let getting = start(get_plan(balancer.front(), "/", 16));
    for (origin, name) in origins.iter().zip(["a", "b", "c"]) {
        wait_for_answers(&posting, 300);
        origin.kill().unwrap();
        wait_for_answers(&getting, 1_000);
        origin.revive().unwrap();
        wait::until("it takes work again", || balancer.server(name).state == ServerState::Up);
    }
    wait_for_answers(&posting, 300);
    let posted = stop(posting);
    let got = stop(getting);
    let arrivals = seen.arrivals();
    let report = balancer.report_when_settled();
    figure(format_args!(
        "3 kills: {} GETs answered, {} failed; {} POSTs answered, {} failed, {} arrived twice",
        got.answered, got.failed, posted.answered, posted.failed, arrivals.duplicated_posts
    ));
    assert_eq!((got.failed, arrivals.duplicated_posts), (0, 0), "{:?}", got.failed_by_cause);
    // Only requests in flight at the moment of each kill may fail.
    assert!(posted.failed <= 3 * 16, "{:?}", posted.failed_by_cause);
    assert_eq!(
        posted.failed,
        posted.count(FailureCause::ServerError),
        "each got an answer of ours"
    );
    let by_name = ["server-reset", "server-closed", "server-refused"].map(|c| ended_by(&report, c));
    assert_eq!(posted.failed, by_name.iter().sum::<u64>(), "and is counted by name: {report:?}");
}

#[test]
fn answers_that_had_begun_are_cut_and_counted_and_others_go_on() {
    let origins = [origin("a"), origin("b")];
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)));
    // Large enough to be in progress when the server is killed.
    let mut clients: Vec<_> = (0..8).map(|_| balancer.client()).collect();
    let mut heads = Vec::new();
    for client in &mut clients {
        heads.push(client.send_get("/bytes/60000000").read_answer_head());
    }
    let held = u64::from(balancer.server("a").in_flight);
    assert!((1..8).contains(&held), "{held} of 8 at one server");
    origins[0].kill().unwrap();
    let bodies = clients.iter_mut().zip(heads).map(|(client, head)| client.read_body(head));
    let whole: Vec<usize> = bodies.filter_map(|body| Some(body.ok()?.len())).collect();
    assert_eq!(whole, vec![60_000_000; 8 - held as usize]);
    let report = balancer.report_when_idle();
    assert_eq!((ended_by(&report, "response-truncated"), wrong_at(&report, "a")), (held, held));
    assert_eq!(report.total.requests.aborted.total, held);
}

#[test]
fn tcp_connections_of_a_killed_server_end_by_name_and_new_ones_go_elsewhere() {
    let servers = [echo("a"), echo("b")];
    let balancer = TestBalancer::start(
        &BalancerConfig::tcp(&addresses(&servers)).global("workers = 1").quiet(),
    );
    let load = start(echo_plan(balancer.front(), 128, 16));
    wait_for_answers(&load, 500);
    let held = u64::from(balancer.server("a").in_flight);
    assert_eq!(held, 8, "round-robin over connections");
    servers[0].kill().unwrap();
    wait_for_answers(&load, 2_000);
    let seen = stop(load);
    let report = balancer.report_when_settled();
    figure(format_args!(
        "echo server killed: {held} of 16 tcp connections ended, {:?}; {} messages came back",
        seen.failed_by_cause, seen.answered
    ));
    assert_eq!(ended_by(&report, "server-reset"), held, "{:?}", report.total.causes);
    assert!(seen.failed <= held, "{:?}", seen.failed_by_cause);
    assert_eq!(report.total.requests.unaccounted, 0);
    assert_eq!(wrong_at(&report, "b"), 0);
}
