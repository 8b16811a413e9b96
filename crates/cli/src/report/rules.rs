//! Rules of a service as a table, and its sticky clients. Pure.

use api::types::{RuleReport, ServiceReport};

use crate::show::table::{TextTable, left, right};
use crate::show::unit::{bytes, count, span};

/// Rules of a service that are shown while all services are; a named service shows all of its rules.
/// A page of a usual terminal.
const SHOWN: usize = 20;

/// The rules that took most; `all`: every one.
pub fn rules(service: &ServiceReport, all: bool, now_unix_ms: u64) -> TextTable {
    let mut table = TextTable::new(&[
        left("RULE"),
        right("MATCHES"),
        right("LAST"),
        right("IN FLIGHT"),
        right("LIMITED"),
        right("SKIPPED"),
        right("SENT"),
        left("ACTION"),
    ]);
    let mut shown: Vec<&RuleReport> = service.rules.iter().collect();
    if !all && shown.len() > SHOWN {
        shown.sort_by_key(|rule| (std::cmp::Reverse(rule.hits), rule.position));
        shown.truncate(SHOWN);
    }
    for rule in &shown {
        let ago = |at: u64| format!("{} ago", span(now_unix_ms.saturating_sub(at)));
        table.row(vec![
            format!("{} {} {}", service.name, rule.position, rule.name).into(),
            count(rule.hits).into(),
            rule.last_unix_ms.map_or_else(|| "never".to_owned(), ago).into(),
            rule.in_flight.to_string().into(),
            count(rule.rate_limited).into(),
            count(rule.skipped).into(),
            bytes(rule.bytes).into(),
            format!("{} when {}", rule.action, rule.when).into(),
        ]);
    }
    if shown.len() < service.rules.len() {
        let more = format!("and {} more of {}", service.rules.len() - shown.len(), service.name);
        let empty = || String::new().into();
        table.row(vec![more.into(), empty(), empty(), empty(), empty(), empty(), empty(), empty()]);
    }
    table
}

/// The affinity table of the service; empty if it has none.
pub fn affinity(service: &ServiceReport) -> TextTable {
    let mut table = TextTable::new(&[
        left("STICKY SESSIONS"),
        right("STORED"),
        right("LIMIT"),
        right("FOUND"),
        right("ADDED"),
        right("EVICTED"),
    ]);
    if let Some(counts) = &service.affinity {
        table.row(vec![
            service.name.as_str().into(),
            count(counts.entries).into(),
            count(counts.max_entries).into(),
            count(counts.hits).into(),
            count(counts.assignments).into(),
            count(counts.evicted).into(),
        ]);
    }
    table
}
