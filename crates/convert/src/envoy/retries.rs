//! `retry_policy` of a route, as a rule's `retries` and `retry`.

use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::fields::settle_rest;
use super::reader::{leave_out, note_changed, take_number, take_text, take_texts, take_time};

/// What a route says of further attempts.
pub struct RouteRetries {
    /// Keys of the rule.
    pub keys: Vec<KeyValue>,
    /// The time of one attempt in milliseconds.
    pub attempt_ms: Option<u64>,
}

/// Reads a policy. Without one no request is sent a second time, as the pools are written.
pub fn read_retries(policy: Option<&ConfigNode>, notes: &mut ConversionNotes) -> RouteRetries {
    let mut retries = RouteRetries { keys: Vec::new(), attempt_ms: None };
    let on = policy.and_then(|policy| take_text(policy, "retry_on", notes)).unwrap_or_default();
    let Some(policy) = policy.filter(|_| !on.is_empty()) else {
        if let Some(policy) = policy {
            leave_out(policy, "it names nothing to send a request again for", "`retry.on`", notes);
        }
        return retries;
    };
    let words: Vec<&str> = on.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let number = take_number(policy, "num_retries", notes).unwrap_or(1).min(10);
    // Where every word is unknown, nothing is sent again.
    let number = if words.iter().any(|word| is_known(word)) { number } else { 0 };
    retries.keys.push(KeyValue::new("retries", number.to_string()));
    let mut statuses = statuses_of(&words);
    for code in take_texts(policy, "retriable_status_codes", notes) {
        if words.contains(&"retriable-status-codes") {
            statuses.push(code.to_owned());
        }
    }
    let mut pairs = Vec::new();
    if !statuses.is_empty() {
        pairs.push(KeyValue::new("on", value::list(statuses)));
    }
    if words.iter().any(|word| matches!(*word, "5xx" | "gateway-error" | "reset")) {
        pairs.push(KeyValue::new("on-timeout", "true"));
    } else if words.iter().all(|word| is_unsent(word)) {
        pairs.push(KeyValue::new("unsent-only", "true"));
    }
    if !pairs.is_empty() {
        retries.keys.push(KeyValue::new("retry", value::table(&pairs)));
    }
    if let Some(back_off) = policy.get("retry_back_off") {
        let reason = "pauses between attempts are those of the pool, for all routes to it";
        note_changed(back_off, reason, "`retry.back-off` of the pool", notes);
    }
    let attempt = take_time(policy, "per_try_timeout", notes).filter(|time| time.ms > 0);
    retries.attempt_ms = attempt.map(|time| time.ms);
    if let Some(time) = policy.get("per_try_idle_timeout") {
        let reason = "an attempt is held to the time of its first byte";
        leave_out(time, reason, "`timeout.first-byte`", notes);
    }
    let reason =
        "only requests that may be repeated are, and a further attempt goes to another server";
    notes.changed(policy.source, policy.describe(), reason, "`retry` of the rule");
    for word in words.iter().filter(|word| !is_known(word)) {
        let reason = format!("`{word}` asks for no further attempt here");
        notes.left_out(policy.source, "retry_on", &reason, "`retry.on` of the rule");
    }
    settle_rest("retry_policy", policy, notes);
    retries
}

/// Whether the word stands for requests of which no server has received anything.
fn is_unsent(word: &str) -> bool {
    matches!(word, "connect-failure" | "refused-stream" | "reset-before-request")
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
