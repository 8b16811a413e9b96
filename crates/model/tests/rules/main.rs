//! Rules: each condition and action as rows, the index against a linear scan, and state that survives changes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail")]

mod edits;
mod paths;
mod values;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use model::config::{ActiveCountScope, Config, ServiceConfig, load};
use model::id::PoolId;
use model::request_head::ParsedHead;
use model::rules::{
    PoolLoad, PreviousRules, ReportedLoads, RuleAction, RuleContext, RuleMatch, RuleState,
    RuleTable, ServiceRules,
};
use proptest::prelude::*;

/// 2026-11-20, a Friday, 12:30 UTC.
const FRIDAY_NOON: i64 = 1_795_177_800;

/// State set by a test.
#[derive(Default)]
struct TestFacts {
    active: u64,
    arrivals: u64,
    rule_bits: u64,
    service_bits: u64,
    pools: Vec<PoolLoad>,
    empty: Vec<usize>,
    remaining: RefCell<u64>,
    passed_rules: RefCell<Vec<usize>>,
}

impl RuleState for TestFacts {
    fn active_count(&self, _: usize, _: usize, _: ActiveCountScope) -> u64 {
        self.active
    }
    fn arrivals_per_second(&self) -> u64 {
        self.arrivals
    }
    fn rule_bits(&self, _: usize) -> u64 {
        self.rule_bits
    }
    fn service_bits(&self) -> u64 {
        self.service_bits
    }
    fn pool_load(&self, pool: usize) -> PoolLoad {
        self.pools.get(pool).copied().unwrap_or_default()
    }
    fn has_server(&self, pool: usize) -> bool {
        !self.empty.contains(&pool)
    }
    fn take_rate_token(&self, _: usize) -> bool {
        let mut left = self.remaining.borrow_mut();
        let some = *left > 0;
        *left = left.saturating_sub(1);
        some
    }
    fn record_passed_over(&self, rule: usize) {
        self.passed_rules.borrow_mut().push(rule);
    }
}

fn config(forward: &str, rules: &str) -> Config {
    let text = format!(
        "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"{forward}\"\npool = \"p\"\nrule = [{rules}]\n\
         [pool.p]\nservers = [\"10.0.0.1:80\"]\n[pool.q]\nservers = [\"10.0.0.2:80\"]\n\
         [pool.r]\nservers = [\"10.0.0.3:80\"]\n"
    );
    load(&text, "rules.toml").unwrap_or_else(|findings| panic!("{findings}\n{text}")).config
}

fn service(rules: &str) -> Arc<ServiceConfig> {
    config("http", rules).services["s"].clone()
}

/// A request and its connection.
struct TestRequest {
    text: String,
    client: SocketAddr,
    sni: Option<&'static str>,
    at: i64,
}

fn get(target: &str, more: &str) -> TestRequest {
    TestRequest {
        text: format!("GET {target} HTTP/1.1\r\nHost: shop.example:80\r\n{more}\r\n"),
        client: "192.0.2.9:40000".parse().unwrap(),
        sni: None,
        at: FRIDAY_NOON,
    }
}

fn evaluate(table: &RuleTable, request: &TestRequest, world: &TestFacts) -> (RuleMatch, RuleMatch) {
    let mut words = request.text.split(' ');
    let method = words.next().unwrap().len();
    let target = words.next().unwrap().len();
    let head = ParsedHead::new(request.text.as_bytes(), method, method + 1..method + 1 + target);
    let view = RuleContext {
        client: request.client,
        sni: request.sni,
        tos: None,
        head: Some(&head),
        unix_seconds: request.at,
    };
    let found = table.find_rule(&view, world);
    *world.remaining.borrow_mut() = 0;
    (found, table.find_rule_linear(&view, world))
}

fn fits(when: &str, request: &TestRequest, world: &TestFacts) -> bool {
    let table =
        RuleTable::new(&service(&format!("{{ when = {{ {when} }}, pool = \"q\" }}"))).unwrap();
    evaluate(&table, request, world).0 == RuleMatch::Rule(0)
}

// Rows: I23
#[test]
fn conditions_of_requests_hold_and_do_not() {
    let cookies = "Cookie: a=1; id=42\r\nX-Tenant: Blue\r\nx-tenant: red-7\r\n";
    for (when, yes, no) in [
        ("host = \"shop.example\"", get("/", ""), None),
        ("host = \"SHOP.example\"", get("/", ""), None),
        ("host = \"*.example\"", get("/", ""), None),
        ("host = [\"a.example\", \"shop.example\"]", get("/", ""), None),
        ("path = \"/a\"", get("/a?x=1", ""), Some(get("/a/", ""))),
        ("path = \"/a\"", get("/%61", ""), Some(get("/b", ""))),
        ("path = \"/admin/*\"", get("/%61dmin/y", ""), Some(get("/admin", ""))),
        ("path = \"/%61%c3%a9\"", get("/a%C3%A9", ""), None),
        ("path = \"/api/*\"", get("/api/", ""), Some(get("/apis", ""))),
        ("path = \"/*/edit\"", get("/7/edit", ""), Some(get("/7/8/edit", ""))),
        ("path = \"/**/edit\"", get("/7/8/edit", ""), Some(get("/edit", ""))),
        ("path = \"/a?c\"", get("/abc", ""), Some(get("/a/c", ""))),
        ("path-regex = \"/v[0-9]+/x\"", get("/v12/x", ""), Some(get("/v12/xy", ""))),
        ("method = [\"GET\", \"HEAD\"]", get("/", ""), None),
        ("header = \"x-tenant\"", get("/", cookies), Some(get("/", ""))),
        ("header = \"x-tenant: Blue\"", get("/", cookies), Some(get("/", "X-Tenant: blue\r\n"))),
        (
            "header = \"x-tenant: red-*\"",
            get("/", cookies),
            Some(get("/", "x-tenant: a-red-7\r\n")),
        ),
        ("cookie = \"id\"", get("/", cookies), Some(get("/", "X-Id: id=42\r\n"))),
        ("cookie = \"id=4*\"", get("/", cookies), Some(get("/", "Cookie: id=14\r\n"))),
        ("query = \"q\"", get("/?p=1&q", ""), Some(get("/?qq=1", ""))),
        ("query = \"q=a*\"", get("/?q=ab", ""), Some(get("/?q=ba", ""))),
        ("client = \"192.0.2.0/24\"", get("/", ""), None),
        ("client-port = \"40000-40001\"", get("/", ""), None),
        ("hours = \"12:00-13:00\", days = \"fri\"", get("/", ""), None),
        ("path = \"/a\", method = \"GET\"", get("/a", ""), Some(get("/b", ""))),
        ("any = [{ path = \"/a\" }, { path = \"/b\" }]", get("/b", ""), Some(get("/c", ""))),
        ("all = [{ path = \"/a*\" }, { query = \"x\" }]", get("/ab?x=", ""), Some(get("/ab", ""))),
        ("not = { path = \"/a\" }", get("/b", ""), Some(get("/a", ""))),
        (
            "not = { any = [{ path = \"/a\" }, { not = { method = \"GET\" } }] }",
            get("/b", ""),
            Some(get("/a", "")),
        ),
    ] {
        let world = TestFacts::default();
        assert!(fits(when, &yes, &world), "{when} {}", yes.text);
        if let Some(no) = no {
            assert!(!fits(when, &no, &world), "{when} {}", no.text);
        }
    }
    let other = TestRequest {
        text: "POST / HTTP/1.1\r\nHost: other\r\n\r\n".into(),
        client: "[2001:db8::1]:39999".parse().unwrap(),
        sni: None,
        at: FRIDAY_NOON - 3 * 3600,
    };
    for when in [
        "host = \"shop.example\"",
        "host = \"*.other\"",
        "method = \"GET\"",
        "client = \"192.0.2.0/24\"",
        "client-port = 40000",
        "hours = \"12:00-13:00\"",
        "days = [\"sat\", \"sun\"]",
    ] {
        assert!(!fits(when, &other, &TestFacts::default()), "{when}");
    }
}

#[test]
fn days_are_those_on_which_the_hours_begin() {
    let night = "hours = \"22:00-06:00\", days = \"fri\"";
    let at = |hours: i64| TestRequest { at: FRIDAY_NOON - 1800 + hours * 3600, ..get("/", "") };
    for (hours, want) in
        [(-10, false), (9, false), (10, true), (17, true), (18, false), (34, false)]
    {
        assert_eq!(fits(night, &at(hours), &TestFacts::default()), want, "{hours}");
    }
}

// Rows: I22
#[test]
fn conditions_of_state_hold_and_do_not() {
    let pools = |facts: PoolLoad| TestFacts { pools: vec![facts; 3], ..TestFacts::default() };
    let loaded = |load| PoolLoad { up: 2, in_flight_per_server: 3, load };
    let loads = |lowest, average, highest| Some(ReportedLoads { lowest, average, highest });
    for (when, yes, no) in [
        (
            "active = \"10-\"",
            TestFacts { active: 10, ..TestFacts::default() },
            TestFacts { active: 9, ..TestFacts::default() },
        ),
        (
            "active = \"-9\", scope = \"service\"",
            TestFacts { active: 9, ..TestFacts::default() },
            TestFacts { active: 10, ..TestFacts::default() },
        ),
        (
            "connection-rate = \"5-7\"",
            TestFacts { arrivals: 7, ..TestFacts::default() },
            TestFacts { arrivals: 8, ..TestFacts::default() },
        ),
        (
            "bandwidth = \"8kbit/s\"",
            TestFacts { rule_bits: 7_999, ..TestFacts::default() },
            TestFacts { rule_bits: 8_000, ..TestFacts::default() },
        ),
        (
            "shared-bandwidth = \"1kB/s\"",
            TestFacts::default(),
            TestFacts { service_bits: 9_000, ..TestFacts::default() },
        ),
        ("servers = \"2-\"", pools(loaded(None)), TestFacts::default()),
        (
            "servers = { of = \"r\", average-active = \"-3\" }",
            pools(loaded(None)),
            pools(PoolLoad { in_flight_per_server: 4, ..loaded(None) }),
        ),
        ("servers = { load = \"-80\" }", pools(loaded(loads(70, 80, 90))), pools(loaded(None))),
        (
            "servers = { each-load = \"-80\" }",
            pools(loaded(loads(70, 75, 80))),
            pools(loaded(loads(70, 75, 81))),
        ),
        (
            "rate = 5",
            TestFacts { remaining: 1.into(), ..TestFacts::default() },
            TestFacts::default(),
        ),
    ] {
        assert!(fits(when, &get("/", ""), &yes), "{when}");
        assert!(!fits(when, &get("/", ""), &no), "{when}");
    }
}

#[test]
fn what_is_taken_is_taken_only_when_everything_else_holds() {
    let table =
        RuleTable::new(&service("{ when = { path = \"/a\", rate = 9 }, pool = \"q\" }")).unwrap();
    let world = TestFacts { remaining: 1.into(), ..TestFacts::default() };
    let head_of = |text: &'static str| ParsedHead::new(text.as_bytes(), 3, 4..6);
    for (text, want) in [
        ("GET /b HTTP/1.1\r\n\r\n", RuleMatch::DefaultPool),
        ("GET /a HTTP/1.1\r\n\r\n", RuleMatch::Rule(0)),
    ] {
        let head = head_of(text);
        let view = RuleContext {
            client: "192.0.2.1:1".parse().unwrap(),
            sni: None,
            tos: None,
            head: Some(&head),
            unix_seconds: 0,
        };
        assert_eq!(table.find_rule(&view, &world), want, "{text}");
    }
}

// Rows: I21
#[test]
fn a_rule_without_servers_follows_its_setting() {
    let rule = |without: &str| {
        format!(
            "{{ when = {{ path = \"/a\" }}, pool = \"q\", when-unavailable = \"{without}\" }}, {{ pool = \"r\" }}"
        )
    };
    let world = || TestFacts { empty: vec![1], ..TestFacts::default() };
    for (without, want) in [
        ("pool", RuleMatch::Rule(0)),
        ("next", RuleMatch::Rule(1)),
        ("answer", RuleMatch::NoServer(0)),
    ] {
        let table = RuleTable::new(&service(&rule(without))).unwrap();
        let world = world();
        assert_eq!(evaluate(&table, &get("/a", ""), &world).0, want, "{without}");
        let passed = if without == "next" { vec![0, 0] } else { Vec::new() };
        assert_eq!(*world.passed_rules.borrow(), passed, "{without}");
    }
}

#[test]
fn splits_follow_their_weights_and_leave_empty_pools_out() {
    let rule = "{ split = [{ pool = \"p\", weight = 1 }, { pool = \"q\", weight = 3 }, { pool = \"r\", weight = 0 }] }";
    let table = RuleTable::new(&service(rule)).unwrap();
    let chosen = |world: &TestFacts| {
        let each = (0..8).map(|n| table.rules()[0].choose_pool(|sum| n % sum, world).unwrap());
        [0, 1, 2].map(|pool| each.clone().filter(|chosen| *chosen == pool).count())
    };
    assert!(
        matches!(&table.rules()[0].action, RuleAction::Split { parts, sum: 4 } if parts.len() == 3)
    );
    assert_eq!(chosen(&TestFacts::default()), [2, 6, 0]);
    assert_eq!(chosen(&TestFacts { empty: vec![1], ..TestFacts::default() }), [8, 0, 0]);
    assert_eq!(chosen(&TestFacts { empty: vec![0, 1], ..TestFacts::default() }), [2, 6, 0]);
}

#[test]
fn connections_are_routed_by_server_name() {
    let rules = "{ when = { sni = \"a.example\" }, pool = \"q\" }, { when = { sni = \"*.example\" }, deny = true }";
    let config = config("tcp", rules);
    let table = RuleTable::new(&config.services["s"]).unwrap();
    assert!(table.wants_sni());
    for (sni, want) in [
        (Some("a.example"), RuleMatch::Rule(0)),
        (Some("b.example"), RuleMatch::Rule(1)),
        (Some("example"), RuleMatch::DefaultPool),
        (None, RuleMatch::DefaultPool),
    ] {
        let view = RuleContext {
            client: "192.0.2.1:1".parse().unwrap(),
            sni,
            tos: None,
            head: None,
            unix_seconds: 0,
        };
        assert_eq!(table.find_rule(&view, &TestFacts::default()), want, "{sni:?}");
        assert_eq!(table.find_rule_linear(&view, &TestFacts::default()), want, "{sni:?}");
    }
}

#[test]
fn counts_stay_with_rules_that_stay_wherever_they_move() {
    let pool = |name: &str| Some(PoolId(u32::from(name.as_bytes()[0])));
    let before = service(
        "{ name = \"a\", when = { path = \"/a\" }, pool = \"q\" }, { pool = \"r\" }, { pool = \"r\" }",
    );
    let old = ServiceRules::new(&before, pool, 2, None).unwrap();
    for (at, live) in old.stats.iter().enumerate() {
        live.workers[1].record_hit(at as u64 + 1);
    }
    let after = service(
        "{ when = { path = \"/new\" }, deny = true }, { pool = \"r\" }, { name = \"a\", when = { path = \"/a\" }, pool = \"p\" }",
    );
    let previous = PreviousRules { config: &before, active: &old };
    let new = ServiceRules::new(&after, pool, 2, Some(previous)).unwrap();
    let last: Vec<_> = new.stats.iter().map(|live| live.last_unix_ms()).collect();
    assert_eq!(last, [None, Some(2), None]);
    assert_eq!(new.table.rules()[0].name, "rule-1");
    assert!(Arc::ptr_eq(&new.gauges, &old.gauges));
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        "(/[ab]{0,2}){1,3}".prop_map(|path| format!("path = \"{path}\"")),
        "(/[ab]{0,2}){1,3}".prop_map(|path| format!("path = \"{path}*\"")),
        "/[ab]{0,2}".prop_map(|path| format!("path = [\"{path}*\", \"/x\", \"{path}/**/b\"]")),
        "[ab]".prop_map(|host| format!("host = \"{host}.example\"")),
        Just("host = [\"*.example\", \"b.a.example\"]".to_owned()),
        ("[ab]", "(/[ab]){1,2}")
            .prop_map(|(host, path)| format!("host = \"*.{host}.example\", path = \"{path}*\"")),
        Just("method = \"GET\"".to_owned()),
        "/[ab]".prop_map(|path| format!("not = {{ path = \"{path}*\" }}")),
        "/[ab]".prop_map(|path| format!(
            "all = [{{ path = \"{path}*\" }}, {{ host = \"a.example\" }}]"
        )),
    ]
}

proptest! {
    // Rows: I20
    #[test]
    fn the_index_finds_what_a_scan_finds(
        patterns in proptest::collection::vec(pattern(), 1..40),
        requests in proptest::collection::vec(
            ("(/|/|%2F|;|//|/\\.\\./|\\\\)?(/[ab]{0,2}){1,4}", "([ab]\\.){0,3}example"),
            1..30,
        ),
    ) {
        let rules: Vec<String> =
            patterns.iter().map(|when| format!("{{ when = {{ {when} }}, pool = \"q\" }}")).collect();
        let table = RuleTable::new(&service(&rules.join(", "))).unwrap();
        for (path, host) in requests {
            let request = TestRequest {
                text: format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
                ..get("/", "")
            };
            let (found, scanned) = evaluate(&table, &request, &TestFacts::default());
            prop_assert_eq!(found, scanned, "{}", request.text);
        }
    }
}
