//! The contract as JSON: names that scripts rely on, and balances.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

use api::types::{
    Connections, Counter, Problem, Requests, ServerAction, ServiceCounts, ServiceReport,
};
use serde_json::json;

fn counter(total: u64) -> Counter {
    Counter { total, rate: 0.0 }
}

#[test]
fn what_is_missing_shows_as_unaccounted_with_its_sign() {
    let balanced = Requests::new(counter(100), counter(90), counter(4), counter(5), counter(2), 1);
    assert_eq!(balanced.unaccounted, 0);
    assert_eq!(
        Requests::new(counter(100), counter(90), counter(0), counter(0), counter(0), 3).unaccounted,
        7
    );
    assert_eq!(Connections::new(counter(10), counter(1), counter(9), 4).unaccounted, -3);
    assert_eq!(
        Connections::new(counter(0), counter(0), counter(u64::MAX), u64::MAX).unaccounted,
        i64::MIN
    );
}

#[test]
fn a_sum_of_balances_is_the_balance_of_the_sum() {
    let one = Requests::new(counter(100), counter(90), counter(4), counter(3), counter(2), 1);
    let two = Requests::new(counter(7), counter(1), counter(0), counter(2), counter(0), 9);
    let mut sum = one;
    sum += two;
    let ends = (counter(91), counter(4), counter(5), counter(2));
    assert_eq!(sum, Requests::new(counter(107), ends.0, ends.1, ends.2, ends.3, 10));
}

#[test]
fn actions_read_as_a_script_writes_them() {
    for (text, action) in [
        (r#"{"action":"drain"}"#, ServerAction::Drain),
        (r#"{"action":"enable"}"#, ServerAction::Enable),
        (r#"{"action":"disable"}"#, ServerAction::Disable),
        (r#"{"action":"weight","weight":3}"#, ServerAction::Weight { weight: Some(3) }),
        (r#"{"action":"weight"}"#, ServerAction::Weight { weight: None }),
    ] {
        assert_eq!(serde_json::from_str::<ServerAction>(text).unwrap(), action, "{text}");
    }
    for text in [r#"{"action":"kill"}"#, "{}", r#"{"action":"weight","weight":-1}"#] {
        assert!(serde_json::from_str::<ServerAction>(text).is_err(), "{text}");
    }
}

#[test]
fn a_service_has_its_counts_beside_its_name() {
    let report = ServiceReport {
        name: "shop".into(),
        forward: "http".into(),
        counts: ServiceCounts::default(),
        rules: Vec::new(),
        affinity: None,
        slo: None,
    };
    let value = serde_json::to_value(&report).unwrap();
    assert_eq!(value["requests"]["local-replies"], json!({"total": 0, "rate": 0.0}));
    assert_eq!(value["connections"]["unaccounted"], json!(0));
    assert_eq!(serde_json::from_value::<ServiceReport>(value).unwrap(), report);
}

#[test]
fn a_problem_has_the_members_of_the_standard() {
    let problem = Problem { kind: "/problems/x".into(), status: 404, ..Problem::default() };
    let value = serde_json::to_value(&problem).unwrap();
    assert_eq!(value, json!({"type": "/problems/x", "title": "", "status": 404, "detail": ""}));
    assert_eq!(
        serde_json::from_value::<Problem>(json!({"title": "x", "else": 1})).unwrap().title,
        "x"
    );
}

#[test]
fn the_socket_is_looked_for_where_a_daemon_puts_it() {
    let text = "[service.a]\nlisten = \"127.0.0.1:80\"\nforward = \"tcp\"\npool = \"p\"\n\
                [pool.p]\nservers = [{ name = \"s\", address = \"127.0.0.1:81\" }]\n";
    let checked = model::config::load(text, "steelyard.toml").unwrap();
    assert_eq!(
        checked.config.global.control.socket.as_deref(),
        Some(std::path::Path::new(api::routes::SOCKET))
    );
}
