//! Active and passive health checks of upstreams.

use crate::document::TomlTable;
use crate::duration::{format_duration, parse_duration};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

/// Caddy's times between two checks and for one check, in milliseconds.
const EVERY: u64 = 30_000;
const TIMEOUT: u64 = 5_000;

/// Writes the probe and the ejection of a pool.
pub fn write(pool: &mut TomlTable, statement: &ConfigStatement, notes: &mut ConversionNotes) {
    write_probe(pool, statement, notes);
    write_ejection(pool, statement, notes);
}

/// The word of an option, which counts as converted.
fn option<'s>(
    statement: &'s ConfigStatement,
    name: &str,
    notes: &mut ConversionNotes,
) -> Option<&'s str> {
    let line = statement.find(name)?;
    let word = line.word(0);
    line.settle_converted(notes);
    Some(word)
}

/// Statuses such as `2xx` or `200`, in TOML.
fn statuses(word: &str) -> Option<String> {
    match word.strip_suffix("xx") {
        Some(class) if class.len() == 1 && "12345".contains(class) => {
            Some(value::quote(&format!("{class}00-{class}99")))
        }
        _ => word
            .parse::<u16>()
            .ok()
            .filter(|code| (100..=599).contains(code))
            .map(|code| code.to_string()),
    }
}

fn write_probe(pool: &mut TomlTable, statement: &ConfigStatement, notes: &mut ConversionNotes) {
    let uri = statement.find("health_uri").or(statement.find("health_path"));
    let port = option(statement, "health_port", notes).map(str::to_owned);
    if uri.is_none() && port.is_none() {
        // Servers that are spoken TLS to would be probed by a handshake.
        pool.set("probe", value::quote("off"), SourcePlace::NONE);
        for line in statement.inner().iter().filter(|one| one.name.starts_with("health_")) {
            line.note_not_needed("without `health_uri` nothing is checked", notes);
        }
        return;
    }
    let source = uri.map_or(SourcePlace::NONE, |one| one.source);
    let path = uri.map_or("/", |one| one.word(0)).to_owned();
    uri.into_iter().for_each(|one| one.settle_converted(notes));
    let mut pairs = vec![KeyValue::new("http", value::quote(&path))];
    let mut text = |name: &str, key: &'static str, pairs: &mut Vec<KeyValue>, plain: bool| {
        if let Some(word) = option(statement, name, notes) {
            let word = if plain { word.to_owned() } else { value::quote(word) };
            pairs.push(KeyValue::new(key, word));
        }
    };
    text("health_method", "method", &mut pairs, false);
    text("health_body", "expect", &mut pairs, false);
    let number =
        |name: &str| statement.find(name).is_some_and(|one| one.word(0).parse::<u16>().is_ok());
    for (name, key) in [("health_passes", "rise"), ("health_fails", "fall")] {
        match number(name) {
            true => text(name, key, &mut pairs, true),
            false => pairs.push(KeyValue::new(key, "1")),
        }
    }
    pairs.extend(port.map(|port| KeyValue::new("port", port)));
    let status =
        option(statement, "health_status", notes).map_or(Some(value::quote("200-299")), statuses);
    pairs.extend(status.map(|status| KeyValue::new("status", value::list([status]))));
    let mut time = |name: &str, other: u64| {
        option(statement, name, notes).and_then(|word| parse_duration(word, 0)).unwrap_or(other)
    };
    let every = time("health_interval", EVERY).max(10);
    let timeout = time("health_timeout", TIMEOUT);
    pairs.push(KeyValue::new("interval", format_duration(every)));
    // A check that takes longer than the next one begins is none here.
    pairs.push(KeyValue::new("timeout", format_duration(timeout.clamp(1, every))));
    write_headers(&mut pairs, statement, notes);
    pool.set("probe", value::table(&pairs), source);
    // Caddy takes servers for healthy until a check fails.
    pool.set("initial", value::quote("up"), SourcePlace::NONE);
    // It asks none of them once all checks fail.
    pool.set("all-down", value::quote("refuse"), SourcePlace::NONE);
    for line in statement.inner() {
        match line.name.as_str() {
            "health_follow_redirects" => {
                line.leave_out("probes follow no redirects", "`status` of the probe", notes);
            }
            "health_upstream" | "health_request_body" => {
                line.leave_out("probes ask each server itself, without a body", "`probe`", notes);
            }
            _ => {}
        }
    }
}

fn write_headers(
    pairs: &mut Vec<KeyValue>,
    statement: &ConfigStatement,
    notes: &mut ConversionNotes,
) {
    let Some(block) = statement.find("health_headers") else { return };
    block.settle_converted(notes);
    let mut fields = Vec::new();
    for line in block.inner() {
        line.words_from(0);
        line.settle_converted(notes);
        if line.name.eq_ignore_ascii_case("host") {
            pairs.push(KeyValue::new("host", value::quote(line.word(0))));
        } else {
            let words = line.words_from(0);
            fields.extend(words.iter().map(|word| value::quote(&format!("{}: {word}", line.name))));
        }
    }
    if !fields.is_empty() {
        pairs.push(KeyValue::new("headers", value::list(fields)));
    }
}

/// Passive checks. Without `fail_duration` Caddy puts no server out.
fn write_ejection(pool: &mut TomlTable, statement: &ConfigStatement, notes: &mut ConversionNotes) {
    if let Some(count) = statement.find("unhealthy_request_count") {
        pool.set("connections", count.word(0), count.source);
        count.settle_converted(notes);
    }
    if let Some(slow) = statement.find("unhealthy_latency") {
        slow.leave_out("a slow answer alone puts no server out", "`eject`", notes);
    }
    let statuses: Vec<String> = statement.find("unhealthy_status").map_or(Vec::new(), |line| {
        let words = line.words_from(0).iter().filter_map(|word| statuses(word)).collect();
        line.settle_converted(notes);
        words
    });
    let failures = option(statement, "max_fails", notes).unwrap_or("1").to_owned();
    let duration = statement
        .find("fail_duration")
        .filter(|one| parse_duration(one.word(0), 0).is_some_and(|ms| ms >= 100));
    let Some(duration) = duration else {
        option(statement, "fail_duration", notes);
        return pool.set("eject", value::quote("off"), SourcePlace::NONE);
    };
    let reason = "servers are put out by failures in a row, half of them at most";
    duration.note_changed(reason, "`eject`", notes);
    let time = parse_duration(duration.word(0), 0).map_or(String::new(), format_duration);
    let failures =
        if failures.parse::<u16>().is_ok_and(|n| n > 0) { failures } else { "1".to_owned() };
    let mut pairs = vec![
        KeyValue::new("failures", failures),
        KeyValue::new("base-time", time.clone()),
        KeyValue::new("max-time", time),
    ];
    if !statuses.is_empty() {
        pairs.push(KeyValue::new("on", value::list(statuses)));
    }
    pool.set("eject", value::table(&pairs), duration.source);
}
