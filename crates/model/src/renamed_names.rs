//! The page of public names that were called otherwise before.

use std::fmt::Write;

use crate::config::renamed_keys::{renamed_keys, renamed_words};
use crate::renamed_fields::RENAMED_FIELDS;
use crate::renamed_flags::RENAMED_FLAGS;
use crate::renamed_labels::RENAMED_LABELS;
use crate::renamed_metrics::RENAMED_METRICS;

/// The page, in Markdown.
pub fn render_renamed_names() -> String {
    let mut text = KEYS.to_owned();
    // Writing to a string cannot fail.
    for key in renamed_keys() {
        for former in key.former_names {
            let _ = writeln!(text, "| `{}` | `{former}` | `{}` |", key.path, key.name);
        }
    }
    text.push_str(WORDS);
    for word in renamed_words() {
        for former in word.former_names {
            let _ = writeln!(text, "| `{}` | `{former}` | `{}` |", word.path, word.name);
        }
    }
    text.push_str(FLAGS);
    for flag in RENAMED_FLAGS {
        let _ = writeln!(
            text,
            "| `steelyard {}` | `{}` | `{}` |",
            flag.verb, flag.former_name, flag.name
        );
    }
    text.push_str(REPORTED);
    for RenamedValue { place, former_name, name } in RENAMED_VALUES {
        let _ = writeln!(text, "| {place} | `{former_name}` | `{name}` |");
    }
    text.push_str(FIELDS);
    for field in RENAMED_FIELDS {
        let _ =
            writeln!(text, "| `{}` | `{}` | `{}` |", field.owner, field.former_name, field.name);
    }
    text.push_str(METRICS);
    for metric in RENAMED_METRICS {
        let label = metric.label.map_or(String::new(), |label| {
            format!("`{}` is `{}` now", label.former_name, label.name)
        });
        let _ = writeln!(text, "| `{}` | `{}` | {label} |", metric.former_name, metric.name);
    }
    text.push_str(LABELS);
    for label in RENAMED_LABELS {
        let _ =
            writeln!(text, "| `{}` | `{}` | `{}` |", label.metric, label.former_name, label.name);
    }
    text
}

/// A value in what the daemon reports, which has its new name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedValue {
    pub place: &'static str,
    pub former_name: &'static str,
    pub name: &'static str,
}

impl RenamedValue {
    const fn new(
        place: &'static str,
        former_name: &'static str,
        name: &'static str,
    ) -> RenamedValue {
        RenamedValue { place, former_name, name }
    }
}

const CAUSE: &str = "causes (access log, API, metrics, `x-steelyard-cause`)";

pub const RENAMED_VALUES: [RenamedValue; 20] = [
    RenamedValue::new(CAUSE, "drain-cut", "drain-timeout"),
    RenamedValue::new(CAUSE, "order-cut", "operator-cut"),
    RenamedValue::new(CAUSE, "server-cut", "response-truncated"),
    RenamedValue::new(CAUSE, "whole-timeout", "total-timeout"),
    RenamedValue::new("access log, `by`", "us", "balancer"),
    RenamedValue::new("objectives (API `what`, metrics, events)", "available", "availability"),
    RenamedValue::new("objectives (API `what`, metrics, events)", "fast", "latency"),
    RenamedValue::new(
        "`about` of the events `budget-burning`, `budget-burn-ended`",
        "promise",
        "objective",
    ),
    RenamedValue::new("API, `side` of a cause", "us", "balancer"),
    RenamedValue::new("`side` of `steelyard_service_causes_total`", "us", "balancer"),
    RenamedValue::new("TCP errors (API, metrics, history)", "refused-by-us", "refused-by-balancer"),
    RenamedValue::new("TCP errors (API, metrics, history)", "aborted-by-us", "aborted-by-balancer"),
    RenamedValue::new(
        "`outcome` of `steelyard_service_ended_total`",
        "answered-by-us",
        "local-reply",
    ),
    RenamedValue::new("`result` of `steelyard_capture_packets_total`", "kept", "recorded"),
    RenamedValue::new("history of SLOs (API, `report --since`)", "left", "aborted"),
    RenamedValue::new("`outcome` of `steelyard_slo_operations_total`", "left", "aborted"),
    RenamedValue::new("`decision` of outlier detection (API)", "not-judged", "not-evaluated"),
    RenamedValue::new("`decision` of outlier detection (API)", "too-many-out", "limit-reached"),
    RenamedValue::new("reason of an ejection (API)", "cuts", "truncations"),
    RenamedValue::new("lines of the daemon's log in JSON", "what", "kind"),
];

const WORDS: &str = "
## Values of keys, and events

A file with an earlier word is read with a warning too. The words of `on` are the kinds of events. An event has its new
name alone; `steelyard watch --on` takes the earlier one with a warning.

| key | earlier word | word |
|---|---|---|
";

const FLAGS: &str = "
## Options of commands

The earlier option works, and a line on standard error names the new one. The next minor version takes the new one alone.

| command | earlier option | option |
|---|---|---|
";

const REPORTED: &str = "
## Values in reports and logs

These have the new name alone. What filters or counts them by the earlier name needs a change. Where the API and
`plan-change` name keys that differ, the keys have their new names too.

| where | earlier | now |
|---|---|---|
";

const FIELDS: &str = "
## Fields of the API

A response has the new names alone. With the parameter `earlier-names=true` in the query, a response in JSON has each
renamed field under both names: `GET /v1/status?earlier-names=true`. The next minor version has the new names alone. No
field of a request was renamed.

| type | earlier name | name |
|---|---|---|
";

const LABELS: &str = "
## Labels of metrics

The rows of these metrics have the label under both names, with the same value. The next minor version has the new name
alone.

| metric | earlier label | label |
|---|---|---|
";

const KEYS: &str = "\
# Renamed keys, options, events, fields and metrics

Written from the schema and the lists of names; a test keeps it fresh (`UPDATE_EXPECT=1 cargo test -p model`).

## Keys

A file with an earlier name is read, and `steelyard check` warns with the new one. The next minor version reads the new
name alone. A table with both names is refused. A patch that sets such a key writes it under the new name.

| table | earlier name | name |
|---|---|---|
";

const METRICS: &str = "
## Metrics

A scrape has a renamed metric under both names, with the same values. The help of the earlier name points to the new one.
The next minor version has the new name alone. `_total`, `_bucket`, `_sum` and `_count` are left away here.

| earlier name | name | labels |
|---|---|---|
";
