//! Settings of a rule in place of those of its pool and service: where they are refused, and which have no effect.

use model::config::Severity;

use super::no_effect::{check_rows, rule};
use super::support::{BASE, good};

#[test]
fn a_rule_without_a_server_has_no_times_retries_and_buffers() {
    let keys = [
        ("timeout", "timeout = { connect = \"1s\" }"),
        ("retries", "retries = 1"),
        ("retry", "retry = { on = [503] }"),
        ("buffer", "buffer = { request = \"1MiB\" }"),
    ];
    for (key, written) in keys {
        for end in ["deny = true", "answer = 404", "redirect = \"/\""] {
            let path = format!("service.shop.rule[0].{key}");
            let text = rule(&format!("{written}, {end}"));
            // The message says what to do: nothing else could be meant.
            let found = super::support::findings(&text);
            let one = found.iter().find(|one| one.key == path).unwrap();
            assert_eq!(one.severity, Severity::Error);
            assert!(one.message.contains("belongs to rules that choose a pool"), "{one:?}");
        }
    }
}

#[test]
fn bodies_of_redirected_and_answered_requests_have_a_limit_and_those_of_refused_ones_none() {
    let limited = |end: &str| rule(&format!("body-bytes = \"1KiB\", {end}"));
    for end in ["answer = 404", "redirect = \"/\"", "pool = \"web\""] {
        good(&limited(end));
    }
    check_rows(
        Severity::Error,
        &[(limited("deny = true"), "service.shop.rule[0].body-bytes", "refuses every request", "")],
    );
}

#[test]
fn settings_of_a_rule_without_effect_are_reported() {
    let at = |key: &str| format!("service.shop.rule[0].{key}");
    let beyond = at("buffer.when-larger");
    let size = at("buffer.request");
    let retried = at("retry.on");
    let silent = at("retry.on-timeout");
    check_rows(
        Severity::Error,
        &[(rule("buffer = { when-larger = \"refuse\" }"), &beyond, "nothing is refused", "")],
    );
    check_rows(
        Severity::Warning,
        &[
            (rule("buffer = { request = \"65MiB\" }"), &size, "is never kept", ""),
            (rule("retry = { on = [200] }"), &retried, "are good", ""),
            (rule("retries = 0, retry = { on-timeout = true }"), &silent, "no further attempt", ""),
        ],
    );
    // What the rule leaves out stands in the service.
    let kept = BASE.replace(
        "pool = \"web\"\n",
        "pool = \"web\"\nbuffer = { request = \"1MiB\", memory = \"128MiB\" }\n\
         rule = [{ buffer = { when-larger = \"refuse\", response = \"65MiB\" } }]\n",
    );
    assert_eq!(good(&kept).warnings, []);
    let memory_of_rules =
        kept.replace("request = \"1MiB\", ", "").replace("when-larger = \"refuse\", ", "");
    assert_eq!(good(&memory_of_rules).warnings, []);
}

#[test]
fn bytes_have_only_some_of_these_settings() {
    let tcp = |more: &str| rule(more).replace("forward = \"http\"", "forward = \"tcp\"");
    let fits = "timeout = { connect = \"1s\", queue = \"2s\", tunnel = \"3s\" }, retries = 0";
    assert_eq!(good(&tcp(fits)).warnings, []);
    let at = |key: &str| format!("service.shop.rule[0].{key}");
    for (key, written) in [
        ("timeout.first-byte", "timeout = { first-byte = \"1s\" }"),
        ("timeout.client-between-bytes", "timeout = { client-between-bytes = \"1s\" }"),
        ("retry", "retry = { on-timeout = true }"),
        ("buffer", "buffer = { request = \"1MiB\" }"),
    ] {
        let found = super::support::findings(&tcp(written));
        assert!(
            found.iter().any(|one| one.key == at(key) && one.severity == Severity::Error),
            "{found:?}"
        );
    }
}

#[test]
fn hedging_and_unsent_only_exclude_each_other() {
    let text = format!("{BASE}retry = {{ unsent-only = true }}\nhedge = {{ after = \"40ms\" }}\n");
    check_rows(
        Severity::Error,
        &[(text, "pool.web.retry.unsent-only", "sends requests to two servers", "")],
    );
}
