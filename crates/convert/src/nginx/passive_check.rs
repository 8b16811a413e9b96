//! `max_fails` and `fail_timeout`: how many failures put a server out, which nginx does also where nothing is written.

use crate::document::TomlTable;
use crate::duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::tree::Directive;

/// nginx's own `max_fails`, and its `fail_timeout` in milliseconds.
const FAILURES: u64 = 1;
const TIME: u64 = 10_000;
/// The bounds of `eject`.
const MOST_FAILURES: u64 = 10_000;
const LEAST_TIME: u64 = 100;
const MOST_TIME: u64 = 86_400_000;
/// A status that no whole answer has: answers of no status count.
const NO_STATUS: &str = "100";

/// Failures of a server that put it out, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FailureLimit {
    failures: u64,
    time: u64,
}

impl FailureLimit {
    /// Of a `server` line. `None`: no failure puts it out.
    fn of(server: &Directive) -> Option<FailureLimit> {
        let words = server.peek_all();
        let value =
            |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let failures = value("max_fails").and_then(|text| text.parse().ok()).unwrap_or(FAILURES);
        let time = value("fail_timeout").and_then(|text| duration::parse_duration(text, 1_000));
        let limit = FailureLimit { failures, time: time.unwrap_or(TIME) };
        (limit.failures > 0 && limit.time > 0).then_some(limit)
    }
}

/// Writes what puts servers of an upstream out: the strictest of their lines. `statuses`: those of
/// `proxy_next_upstream`, which alone are failures.
pub fn write(
    pool: &mut TomlTable,
    upstream: &Directive,
    statuses: &[String],
    notes: &mut ConversionNotes,
) {
    let servers = || upstream.inner().iter().filter(|one| one.name == "server");
    // A single server is never put out, here neither.
    if servers().count() < 2 {
        return;
    }
    let Some(limit) = servers().filter_map(FailureLimit::of).min() else {
        return pool.set("eject", value::quote("off"), SourcePlace::NONE);
    };
    let failures = limit.failures.min(MOST_FAILURES).to_string();
    let time = duration::format_duration(limit.time.clamp(LEAST_TIME, MOST_TIME));
    // These two make nginx ask another server, and are no failures.
    let mut on: Vec<String> =
        statuses.iter().filter(|one| !["403", "404"].contains(&one.as_str())).cloned().collect();
    if on.is_empty() {
        on.push(NO_STATUS.to_owned());
    }
    let pairs = [
        KeyValue::new("failures", failures.clone()),
        KeyValue::new("rate", "100"),
        KeyValue::new("truncation-rate", "100"),
        KeyValue::new("min-requests", failures),
        KeyValue::new("base-time", time.clone()),
        KeyValue::new("max-time", time),
        // All but one: the last server is never put out.
        KeyValue::new("max-percent", "99"),
        KeyValue::new("on", value::list(on)),
    ];
    pool.set("eject", value::table(&pairs), SourcePlace::NONE);
    let is_written = |one: &&Directive| {
        one.peek_all()
            .iter()
            .any(|word| word.starts_with("max_fails=") || word.starts_with("fail_timeout="))
    };
    for server in servers().filter(is_written).filter(|one| FailureLimit::of(one) != Some(limit)) {
        let reason = "all servers of an upstream are put out by one limit, the strictest of them";
        notes.left_out(server.source, &server.text(), reason, "`eject`");
    }
}
