//! Resilience of a pool: defaults, disabled features, and contradictions.

use std::time::Duration;

use model::config::{
    CircuitBreakerLimits, HedgeDelay, HedgingConfig, LoadSheddingConfig, OutlierDetectionConfig,
    RequestPriority, RetryConfig, StatusRange, StatusRanges,
};

use super::support::{BASE, errors, good};

fn pool(keys: &str) -> String {
    format!("{BASE}{keys}\n")
}

#[test]
fn the_types_have_the_defaults_of_the_tables() {
    let config = good(BASE).config;
    let web = &config.pools["web"];
    assert_eq!(
        (&web.retry, web.eject.as_ref()),
        (&RetryConfig::default(), Some(&OutlierDetectionConfig::default()))
    );
    assert_eq!((&web.breaker, &web.shed), (&CircuitBreakerLimits::default(), &None));
    let middle = RequestPriority { class: 5, header: None };
    assert_eq!(config.services.values().next().unwrap().priority, middle);
}

#[test]
fn each_can_be_off_and_statuses_are_ranges() {
    let text = pool("retry = { budget = \"off\", on = [500, \"502-504\"] }\neject = \"off\"");
    let config = good(&text).config;
    let web = &config.pools["web"];
    let on = StatusRanges(vec![
        StatusRange { first: 500, last: 500 },
        StatusRange { first: 502, last: 504 },
    ]);
    assert_eq!((web.retry.budget, &web.retry.on, &web.eject), (None, &on, &None));
    for (status, has) in [(499, false), (500, true), (501, false), (502, true), (505, false)] {
        assert_eq!(on.contains(status), has, "{status}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (keys, key) in [
        ("retry = { back-off = \"1s\", max-back-off = \"10ms\" }", "pool.web.retry.max-back-off"),
        ("eject = { base-time = \"10s\", max-time = \"1s\" }", "pool.web.eject.max-time"),
        ("circuit-breaker = { requests = 0 }", "pool.web.circuit-breaker.requests"),
        ("circuit-breaker = { connections = 0 }", "pool.web.circuit-breaker.connections"),
        (
            "load-shedding = { target = \"2s\", interval = \"1s\" }",
            "pool.web.load-shedding.interval",
        ),
        ("load-shedding = \"2s\"", "pool.web.load-shedding.target"),
        ("hedge = { after = \"20ms\", percentile = 95 }", "pool.web.hedge.percentile"),
    ] {
        let found = errors(&pool(keys));
        assert!(found.iter().any(|finding| finding.key == key), "{keys}: {found:#?}");
    }
}

#[test]
fn what_has_no_effect_is_warned_of() {
    for (keys, key) in [
        ("retries = 0\nretry = { on = 503 }", "pool.web.retry.on"),
        ("eject = { max-percent = 49 }", "pool.web.eject.max-percent"),
        ("retries = 0\ncircuit-breaker = { retries = 5 }", "pool.web.circuit-breaker.retries"),
        ("circuit-breaker = { pending = 5 }", "pool.web.circuit-breaker.pending"),
        ("retries = 0\nhedge = \"20ms\"", "pool.web.hedge"),
        ("circuit-breaker = { connections = 1 }", "pool.web.circuit-breaker.connections"),
        ("load-shedding = \"50ms\"", "pool.web.load-shedding"),
        (
            "connections = 9\ntimeout = { queue = \"100ms\" }\nload-shedding = \"100ms\"",
            "pool.web.load-shedding",
        ),
    ] {
        let found = good(&pool(keys)).warnings;
        assert!(found.iter().any(|finding| finding.key == key), "{keys}: {found:#?}");
    }
    assert_eq!(good(&pool("eject = { max-percent = 50 }")).warnings, []);
}

#[test]
fn breakers_and_shedding_are_off_or_what_is_written() {
    let text = pool(
        "connections = 9\ncircuit-breaker = { connections = 40, pending = 0, requests = \"off\" }\nload-shedding = \"20ms\"",
    );
    let checked = good(&text);
    assert_eq!(checked.warnings, []);
    let web = &checked.config.pools["web"];
    let breaker = CircuitBreakerLimits {
        connections: Some(40),
        pending: Some(0),
        requests: None,
        retries: None,
    };
    let terms = LoadSheddingConfig {
        target: Duration::from_millis(20),
        interval: Duration::from_millis(500),
    };
    assert_eq!((&web.breaker, &web.shed), (&breaker, &Some(terms)));
}

#[test]
fn priority_is_a_class_or_a_field_and_belongs_to_rules_that_choose_a_pool() {
    let of = |lines: &str| BASE.replacen("pool = \"web\"", &format!("pool = \"web\"\n{lines}"), 1);
    let shop = |lines: &str| good(&of(lines)).config.services.values().next().unwrap().clone();
    assert_eq!(shop("priority = 9").priority, RequestPriority { class: 9, header: None });
    let named = RequestPriority { class: 5, header: Some("x-class".into()) };
    assert_eq!(shop("priority = { header = \"X-Class\" }").priority, named);
    assert_eq!(shop("rule = [{ priority = 0 }]").rules[0].priority, Some(0));
    for lines in ["priority = 10", "rule = [{ deny = true, priority = 3 }]"] {
        let found = errors(&of(lines));
        assert!(
            found
                .iter()
                .any(|finding| finding.key.ends_with("priority") || finding.key.ends_with("class")),
            "{found:?}"
        );
    }
}

#[test]
fn a_hedge_is_after_a_time_or_at_a_percentile() {
    let hedge = |text: &str| good(&pool(text)).config.pools["web"].hedge.clone();
    assert_eq!(hedge("hedge = \"off\""), None);
    let at_least = Duration::from_millis(5);
    for (text, after) in [
        ("hedge = \"20ms\"", HedgeDelay::Time(Duration::from_millis(20))),
        ("hedge = {}", HedgeDelay::Percentile(95)),
        ("hedge = { percentile = 99 }", HedgeDelay::Percentile(99)),
    ] {
        assert_eq!(hedge(text), Some(HedgingConfig { after, at_least }), "{text}");
    }
}
