//! Objectives: their meaning, invalid ones, and likely mistakes.

use std::time::Duration;

use model::config::{ServiceObjective, Severity};

use super::support::{BASE, errors, findings, good};

fn service(forward: &str, objective: &str) -> String {
    format!(
        "{BASE}[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"{forward}\"\npool = \"web\"\n{objective}\n"
    )
}

fn objective(text: &str) -> ServiceObjective {
    let checked = good(&service("http", text));
    assert_eq!(checked.warnings, []);
    checked.config.services["s"].objective.clone().unwrap()
}

#[test]
fn the_short_form_promises_availability_and_defaults_are_the_usual() {
    let found = objective("objective = \"99.95%\"");
    let want = ServiceObjective {
        fast: None,
        share: 990_000,
        available: Some(999_500),
        window: Duration::from_secs(30 * 86_400),
        at_least: 10,
        networks: 64,
        mask4: 24,
        mask6: 56,
    };
    assert_eq!(found, want);
    let found = objective(
        "objective = { latency = \"300ms\", availability = \"off\", latency-target = \"95.5 %\" }",
    );
    let millis = Some(Duration::from_millis(300));
    assert_eq!((found.fast, found.available, found.share), (millis, None, 955_000));
    assert_eq!(good(BASE).config.services["shop"].objective, None);
}

#[test]
fn objectives_without_effect_or_out_of_reach_are_named() {
    for (forward, text, key, says, suggests) in [
        ("tcp", "objective.latency = \"1s\"", ".latency", "belongs to `forward = \"http\"`", None),
        ("http", "objective = \"off\"", "", "the objective has no target", None),
        ("http", "objective = \"100%\"", "", "too large", None),
        ("http", "objective = \"49%\"", "", "too small", None),
        (
            "http",
            "objective = { latency-target = \"99%\" }",
            ".latency-target",
            "not said what is fast",
            None,
        ),
        ("http", "objective = { availability = 99.9 }", ".availability", "does not fit here", None),
        (
            "http",
            "objective = { availability = 99 }",
            ".availability",
            "unit is missing",
            Some("\"99%\""),
        ),
        (
            "http",
            "objective = { latency = 3, latency-target = \"99%\" }",
            ".latency",
            "unit is missing",
            Some("\"3s\""),
        ),
    ] {
        let found = errors(&service(forward, text));
        let [one] = &found[..] else { panic!("{text}: {found:#?}") };
        assert_eq!(one.key, format!("service.s.objective{key}"), "{text}");
        assert!(one.message.contains(says), "{text}: {one:?}");
        assert_eq!(one.suggestion.as_deref(), suggests, "{text}");
    }
}

#[test]
fn alarms_that_nothing_raises_and_windows_that_a_restart_forgets_are_reported() {
    let global = |keys: &str| format!("[global]\n{keys}\n");
    for (before, text, key, says) in [
        ("", "objective = \"93%\"", ".availability", "the alarm at 14.4 times is never raised"),
        (
            "",
            "objective = { latency = \"1s\", latency-target = \"80%\" }",
            ".latency-target",
            "of 80%, no more than 5.0 times as many operations can be bad as may be",
        ),
        ("history = { keep = \"7d\" }", "objective = \"99%\"", ".window", "the history keeps 7d"),
        ("history = \"off\"", "objective = \"99%\"", ".window", "there is no history"),
    ] {
        let text = format!("{}{}", service("http", text), global(before));
        let found = findings(&text);
        let about = found.iter().find(|finding| finding.message.contains(says));
        let about = about.unwrap_or_else(|| panic!("{text}: {found:#?}"));
        assert_eq!(about.key, format!("service.s.objective{key}"), "{text}");
        assert!(found.iter().all(|finding| finding.severity == Severity::Warning), "{found:#?}");
    }
}
