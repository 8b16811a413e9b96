//! `healthCheck` of a service as the probe of its pool.

use crate::document::TomlTable;
use crate::duration::format_duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::option_tree::{OptionNode, OptionValue};

/// Traefik's interval in milliseconds.
const INTERVAL_MS: u64 = 30_000;
/// Traefik's time for an answer in milliseconds.
const TIMEOUT_MS: u64 = 5_000;

/// Writes `probe`. `tls`: the servers speak TLS.
pub fn write_probe(
    node: &OptionNode,
    tls: bool,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    let is_grpc = node.text_of("mode").is_some_and(|mode| mode.eq_ignore_ascii_case("grpc"));
    let path = node.text_of("path").unwrap_or_default();
    let mut pairs = Vec::new();
    match is_grpc {
        // The path is the name of the service.
        true => pairs.push(KeyValue::new("grpc", value::quote(path.trim_start_matches('/')))),
        false => {
            let path = format!("/{}", path.trim_start_matches('/'));
            pairs.push(KeyValue::new("http", value::quote(&path)));
        }
    }
    if let Some(host) = node.text_of("hostname") {
        pairs.push(KeyValue::new("host", value::quote(host)));
    }
    if let Some(method) = node.text_of("method").filter(|_| !is_grpc) {
        pairs.push(KeyValue::new("method", value::quote(&method.to_ascii_uppercase())));
    }
    if let Some(status) = node.number_of("status").filter(|status| *status > 0 && !is_grpc) {
        pairs.push(KeyValue::new("status", status.to_string()));
    }
    if let Some(port) = node.number_of("port").filter(|port| *port > 0) {
        pairs.push(KeyValue::new("port", port.to_string()));
    }
    pairs.extend(headers(node, is_grpc, notes));
    pairs.extend(times(node));
    pairs.extend(scheme(node, tls));
    // One failure takes a server out, and one success takes it back.
    pairs.push(KeyValue::new("rise", "1"));
    pairs.push(KeyValue::new("fall", "1"));
    pool.set("probe", value::table(&pairs), node.place());
    for entry in node.entries() {
        match entry.key.to_ascii_lowercase().as_str() {
            "followredirects" => {
                entry.changed(notes, "a redirect is a good answer and not followed", "")
            }
            "headers" => {}
            "path" | "hostname" | "method" | "status" | "port" | "scheme" | "mode" | "interval"
            | "timeout" | "unhealthyinterval" => entry.converted(notes),
            _ => {}
        }
    }
}

fn headers(node: &OptionNode, is_grpc: bool, notes: &mut ConversionNotes) -> Option<KeyValue> {
    let table = node.get("headers")?;
    if is_grpc {
        table.left_out(notes, "a check of gRPC sends no fields of its own", "");
        return None;
    }
    let mut fields = Vec::new();
    for entry in table.entries() {
        let field = format!("{}: {}", entry.key, entry.as_text().unwrap_or_default());
        if entry.key.eq_ignore_ascii_case("host") || !matches!(entry.value, OptionValue::Text(_)) {
            entry.left_out(notes, "the host of a check is named apart", "`probe.host`");
            continue;
        }
        if let Err(why) = crate::header_field::check_field(&field) {
            notes.left_out_because(entry.place(), &entry.text, &why);
            continue;
        }
        entry.converted(notes);
        fields.push(field);
    }
    (!fields.is_empty()).then(|| KeyValue::new("headers", value::quote_all(&fields)))
}

/// A check may not last longer than the interval.
fn times(node: &OptionNode) -> Vec<KeyValue> {
    let of = |key: &str| node.duration_of(key).filter(|ms| *ms > 0);
    let every = of("interval").unwrap_or(INTERVAL_MS).max(10);
    let timeout = of("timeout").unwrap_or(TIMEOUT_MS).min(every);
    let fast_interval = of("unhealthyInterval").unwrap_or(every).clamp(10, every);
    vec![
        KeyValue::new("interval", format_duration(every)),
        KeyValue::new("fast-interval", format_duration(fast_interval)),
        KeyValue::new("timeout", format_duration(timeout)),
    ]
}

fn scheme(node: &OptionNode, tls: bool) -> Option<KeyValue> {
    match node.text_of("scheme")?.to_ascii_lowercase().as_str() {
        "https" if !tls => Some(KeyValue::new("tls", "true")),
        "http" if tls => Some(KeyValue::new("tls", value::quote("off"))),
        _ => None,
    }
}

/// `passiveHealthCheck` as `eject`.
pub fn write_eject(node: &OptionNode, pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let window = node.duration_of("failureWindow").filter(|ms| *ms > 0).unwrap_or(10_000);
    let failures = node.number_of("maxFailedAttempts").unwrap_or(1).clamp(1, 10_000);
    let window = format_duration(window);
    let value = format!(
        "{{ failures = {failures}, rate = 100, base-time = {window}, max-time = {window}, max-percent = 100 }}"
    );
    pool.set("eject", value, SourcePlace::NONE);
    node.changed(notes, "failures in a row put a server out for the window", "`eject` of the pool");
}
