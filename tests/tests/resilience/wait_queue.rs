//! A full pool: requests wait by class, are shed when the queue persists, and lower classes are shed before higher
//! ones.

use std::time::Duration;

use lab::load::LoadModel;
use tests::e2e::balancer::{TestBalancer, figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::load;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

use super::{of_pool, refusal, steelyard};

fn waiting(balancer: &TestBalancer) -> u32 {
    balancer.status().pools.iter().map(|pool| pool.waiting).sum()
}

/// A balancer whose only slot is occupied until the returned client closes.
fn busy(setup: BalancerConfig, pool: &str) -> (lab::origin::TestOrigin, TestBalancer, HttpClient) {
    let origin = origin("a");
    let name = "a";
    let address = origin.address();
    let pool = format!("connections = 1\ntimeout = {{ queue = \"1h\" }}\n{pool}");
    let balancer =
        TestBalancer::start(&setup.server(name, address, "").pool(&pool).global("workers = 1"));
    let client = balancer.client();
    client.send("GET /delay/600000 HTTP/1.1\r\nHost: a\r\n\r\n");
    wait::until("a busy server", || balancer.server("a").in_flight == 1);
    (origin, balancer, client)
}

#[test]
fn a_higher_class_from_a_header_or_a_rule_leaves_the_queue_first() {
    let service = "priority = { class = 4, header = \"x-class\" }\n\
                   rule = [{ when = { path = \"/pay/*\" }, priority = 8 }]";
    let (_origin, balancer, first) = busy(BalancerConfig::http(&[]).service(service), "");
    // Targets in the order of arrival. The rule gives them the classes 4, 2, 4 (not a digit), 4 (out of range), 9 and
    // 8.
    let asks = [
        ("/bytes/1", ""),
        ("/bytes/2", "X-Class: 2\r\n"),
        ("/bytes/3", "X-Class: high\r\n"),
        ("/bytes/4", "X-Class: 11\r\n"),
        ("/bytes/5", "X-Class: 9\r\n"),
        ("/pay/6", "X-Class: 0\r\n"),
    ];
    let clients: Vec<HttpClient> = asks
        .iter()
        .enumerate()
        .map(|(at, (target, field))| {
            let client = balancer.client();
            client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n{field}\r\n"));
            wait::until("it waits", || waiting(&balancer) == at as u32 + 1);
            client
        })
        .collect();
    first.reset();
    for mut client in clients {
        client.read_answer();
    }
    // With one slot, requests are served one after another, and the log has them in this order.
    let order = |log: Vec<serde_json::Value>| -> Vec<String> {
        let targets = log.iter().filter_map(|line| line["target"].as_str().map(str::to_owned));
        targets.filter(|target| !target.starts_with("/delay")).collect()
    };
    wait::until("all are logged", || order(balancer.log()).len() == asks.len());
    let want = ["/bytes/5", "/pay/6", "/bytes/1", "/bytes/3", "/bytes/4", "/bytes/2"];
    assert_eq!(order(balancer.log()), want);
}

#[test]
fn a_full_queue_refuses_the_lowest_class() {
    let service = "priority = { header = \"x-class\" }";
    let (_origin, balancer, first) =
        busy(BalancerConfig::http(&[]).service(service), "limit = { queue = 2 }");
    let ask = |class: u8| {
        let client = balancer.client();
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\nX-Class: {class}\r\n\r\n"));
        client
    };
    let mut low = ask(1);
    let mut middle = ask(5);
    wait::until("both wait", || waiting(&balancer) == 2);
    let mut high = ask(9);
    assert_eq!(refusal(&mut low), (503, "queue-full".into()));
    assert_eq!(refusal(&mut ask(5)), (503, "queue-full".into()));
    assert_eq!(waiting(&balancer), 2);
    first.reset();
    assert_eq!((high.read_answer().status(), middle.read_answer().status()), (200, 200));
}

#[test]
fn a_queue_that_stands_is_shed_at_once_by_class_and_reported() {
    let service = "priority = { header = \"x-class\" }";
    let shed = "load-shedding = { target = \"50ms\", interval = \"200ms\" }";
    let (_origin, balancer, first) = busy(BalancerConfig::http(&[]).service(service), shed);
    let ask = |class: u8| {
        let client = balancer.client();
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\nX-Class: {class}\r\n\r\n"));
        client
    };
    // The server accepts no request. Once that is noticed, all waiting requests but one of the highest class are shed.
    let mut low: Vec<HttpClient> = (0..4).map(|_| ask(1)).collect();
    let mut high = ask(7);
    for client in &mut low {
        assert_eq!(refusal(client), (503, "overload-shed".into()));
    }
    wait::until("one waits", || waiting(&balancer) == 1);
    // A new request is rejected at once, or displaces the waiting one.
    assert_eq!(refusal(&mut ask(7)), (503, "overload-shed".into()));
    let mut higher = ask(9);
    assert_eq!(refusal(&mut high), (503, "overload-shed".into()));
    let text = steelyard(&balancer, &["status"]);
    let row = text.lines().find(|line| line.starts_with("web queue")).unwrap();
    assert!(row.contains("shedding"), "{text}");
    assert!(balancer.metrics().contains("steelyard_pool_shedding{pool=\"web\"} 1"));
    first.reset();
    assert_eq!(higher.read_answer().status(), 200);
    wait::until("it is over", || {
        balancer.status().pools.iter().all(|pool| pool.shedding_since_unix_ms.is_none())
    });
    let report = balancer.report_when_idle();
    let cause = report.total.causes.iter().find(|it| it.cause == "overload-shed").unwrap();
    assert_eq!((cause.count.total, of_pool(&report, "shed")), (6, 6));
}

#[test]
fn under_overload_servers_stay_busy_and_answers_come_in_time() {
    let origins = [origin("a")];
    // Two at a time with 20 ms each make a hundred requests a second. Twice as many arrive.
    let pool = "connections = 2\ntimeout = { queue = \"30s\" }\n\
                load-shedding = { target = \"100ms\", interval = \"1s\" }";
    let setup = BalancerConfig::http(&addresses(&origins)).pool(pool).global("workers = 1").quiet();
    let balancer = TestBalancer::start(&setup);
    let mut plan = load::get_plan(balancer.front(), "/delay/20", 256);
    plan.pace = LoadModel::Open { per_second: 200.0, connections: 256 };
    plan.timeout = Duration::from_secs(60);
    let load = load::start(plan);
    load::wait_for_answers(&load, if is_long() { 3_000 } else { 300 });
    let seen = load::stop(load);
    let report = balancer.report_when_idle();
    let phases = &report.total.phases;
    figure(format_args!(
        "shed: {} requests, {} shed; waiting {phases:?}",
        seen.requests,
        of_pool(&report, "shed")
    ));
    assert!(of_pool(&report, "shed") > 0, "{report:?}");
    let answered = report.total.requests.answered.total;
    assert!(answered > 0);
    let causes: Vec<&str> = report.total.causes.iter().map(|it| it.cause.as_str()).collect();
    assert_eq!(causes, ["overload-shed"], "nobody waits until the queue's own time is over");
}
