//! `retry_policy` of a route, as a pool's `retries` and `retry`.

use crate::duration::format_duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::clusters::PoolSettings;
use super::fields::settle_rest;
use super::reader::{leave_out, take_number, take_text, take_texts, take_time};

/// Writes the policy. Without one no request is sent a second time. `whole_ms`: the time of the route.
pub fn write_retries(
    policy: Option<&ConfigNode>,
    whole_ms: u64,
    settings: &mut PoolSettings,
    notes: &mut ConversionNotes,
) {
    let on = policy.and_then(|policy| take_text(policy, "retry_on", notes)).unwrap_or_default();
    let Some(policy) = policy.filter(|_| !on.is_empty()) else {
        settings.set("retries", "0", SourcePlace::NONE);
        if let Some(policy) = policy {
            leave_out(policy, "it names nothing to send a request again for", "`retry.on`", notes);
        }
        return;
    };
    let words: Vec<&str> = on.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let number = take_number(policy, "num_retries", notes).unwrap_or(1).min(10);
    settings.set("retries", number.to_string(), policy.source);
    let mut statuses = statuses_of(&words);
    for code in take_texts(policy, "retriable_status_codes", notes) {
        if words.contains(&"retriable-status-codes") {
            statuses.push(code.to_owned());
        }
    }
    let mut pairs = vec![KeyValue::new("budget", value::quote("off"))];
    if !statuses.is_empty() {
        pairs.push(KeyValue::new("on", value::list(statuses)));
    }
    if words.iter().any(|word| matches!(*word, "5xx" | "gateway-error" | "reset")) {
        pairs.push(KeyValue::new("on-timeout", "true"));
    }
    if let Some(back_off) = policy.get("retry_back_off") {
        let base = take_time(back_off, "base_interval", notes).map_or(25, |time| time.ms);
        let most = take_time(back_off, "max_interval", notes).map_or(base * 10, |time| time.ms);
        pairs.push(KeyValue::new("back-off", format_duration(base.min(60_000))));
        pairs.push(KeyValue::new(
            "back-off-most",
            format_duration(most.clamp(base, 60_000.max(base))),
        ));
    }
    settings.set("retry", value::table(&pairs), policy.source);
    if let Some(time) = take_time(policy, "per_try_timeout", notes).filter(|time| time.ms > 0) {
        settings.set_time("first-byte", time.ms, time.source);
    }
    settings.set_time("attempts", whole_ms, SourcePlace::NONE);
    if let Some(time) = policy.get("per_try_idle_timeout") {
        leave_out(
            time,
            "an attempt is held to the time of its first byte",
            "`timeout.first-byte`",
            notes,
        );
    }
    let reason =
        "only requests that may be repeated are, and a further attempt goes to another server";
    notes.changed(policy.source, policy.describe(), reason, "`retry` of the pool");
    for word in words.iter().filter(|word| !is_known(word)) {
        let reason = format!("`{word}` asks for no further attempt here");
        notes.left_out(policy.source, "retry_on", &reason, "`retry.on` of the pool");
    }
    settle_rest("retry_policy", policy, notes);
}

/// The statuses for which a request is sent again.
fn statuses_of(words: &[&str]) -> Vec<String> {
    let mut statuses = Vec::new();
    if words.contains(&"5xx") {
        statuses.push(value::quote("500-599"));
    } else if words.contains(&"gateway-error") {
        statuses.push(value::quote("502-504"));
    }
    if words.contains(&"retriable-4xx") {
        statuses.push("409".to_owned());
    }
    statuses
}

fn is_known(word: &str) -> bool {
    matches!(
        word,
        "5xx"
            | "gateway-error"
            | "reset"
            | "connect-failure"
            | "refused-stream"
            | "retriable-4xx"
            | "retriable-status-codes"
            | "reset-before-request"
            | "http3-post-connect-failure"
    )
}
