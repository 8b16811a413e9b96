//! Health checks and outlier detection of a cluster.

use crate::condition::escape_regex;
use crate::document::TomlTable;
use crate::duration::format_duration;
use crate::header_field::check_field;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::fields::settle_rest;
use super::reader::{leave_out, note_changed, take_number, take_text, take_time};

/// Writes the first health check. Returns whether there is one.
pub fn write_probe(
    cluster: &str,
    check_port: Option<u64>,
    node: &ConfigNode,
    table: &mut TomlTable,
    notes: &mut ConversionNotes,
) -> bool {
    let checks = node.get("health_checks").map(ConfigNode::items).unwrap_or_default();
    for other in checks.iter().skip(1) {
        leave_out(other, "a pool has one kind of check", "`probe` of single servers", notes);
    }
    let Some(check) = checks.first() else { return false };
    let Some(mut pairs) = check_kind(cluster, check, notes) else {
        leave_out(check, "there is no such check", "`probe` of the pool", notes);
        table.set("probe", value::quote("tcp"), SourcePlace::NONE);
        return true;
    };
    let every = take_time(check, "interval", notes);
    let every_ms = every.map_or(1_000, |time| time.ms.max(10));
    pairs.push(KeyValue::new("interval", format_duration(every_ms)));
    if let Some(timeout) = take_time(check, "timeout", notes) {
        if timeout.ms > every_ms {
            let reason = "a check ends before the next one begins";
            notes.changed(timeout.source, "timeout", reason, "a longer `probe.interval`");
        }
        pairs.push(KeyValue::new("timeout", format_duration(timeout.ms.clamp(1, every_ms))));
    }
    for (from, to) in [("healthy_threshold", "rise"), ("unhealthy_threshold", "fall")] {
        if let Some(number) = take_number(check, from, notes) {
            pairs.push(KeyValue::new(to, number.clamp(1, 100).to_string()));
        }
    }
    if let Some(port) = check_port.or(take_number(check, "alt_port", notes)) {
        pairs.push(KeyValue::new("port", port.to_string()));
    }
    settle_rest("health_check", check, notes);
    table.set("probe", value::table(&pairs), check.source);
    true
}

fn check_kind(
    cluster: &str,
    check: &ConfigNode,
    notes: &mut ConversionNotes,
) -> Option<Vec<KeyValue>> {
    if let Some(http) = check.get("http_health_check") {
        return http_check(cluster, http, notes);
    }
    if let Some(tcp) = check.get("tcp_health_check") {
        notes.converted(tcp.source);
        return tcp_check(tcp, notes);
    }
    let grpc = check.get("grpc_health_check")?;
    notes.converted(grpc.source);
    let service = take_text(grpc, "service_name", notes).unwrap_or_default();
    let mut pairs = vec![KeyValue::new("grpc", value::quote(service))];
    if let Some(host) = take_text(grpc, "authority", notes) {
        pairs.push(KeyValue::new("host", value::quote(host)));
    }
    Some(pairs)
}

fn http_check(
    cluster: &str,
    http: &ConfigNode,
    notes: &mut ConversionNotes,
) -> Option<Vec<KeyValue>> {
    let path = take_text(http, "path", notes)?;
    let codec = take_text(http, "codec_client_type", notes).unwrap_or("HTTP1");
    let kind = if matches!(codec, "HTTP2" | "1") { "http2" } else { "http" };
    let mut pairs = vec![KeyValue::new(kind, value::quote(path))];
    // Without a host Envoy asks for the name of the cluster.
    let plain = cluster.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    let host = take_text(http, "host", notes).or(Some(cluster).filter(|_| plain));
    if let Some(host) = host {
        pairs.push(KeyValue::new("host", value::quote(host)));
    }
    if let Some(method) = take_text(http, "method", notes).filter(|method| *method != "GET") {
        pairs.push(KeyValue::new("method", value::quote(method)));
    }
    let fields = check_fields(http, notes);
    if !fields.is_empty() {
        pairs.push(KeyValue::new("headers", value::quote_all(&fields)));
    }
    let mut statuses = Vec::new();
    for range in http.get("expected_statuses").map(ConfigNode::items).unwrap_or_default() {
        let start = take_number(range, "start", notes);
        // The end of a range does not belong to it.
        let end = take_number(range, "end", notes);
        match (start, end) {
            (Some(start), Some(end)) if end == start + 1 => statuses.push(start.to_string()),
            (Some(start), Some(end)) if end > start => {
                statuses.push(value::quote(&format!("{start}-{}", (end - 1).min(599))));
            }
            _ => leave_out(range, "a range has a start and an end behind it", "", notes),
        }
    }
    if statuses.is_empty() {
        statuses.push("200".to_owned());
    }
    pairs.push(KeyValue::new("status", value::list(statuses)));
    settle_rest("http_health_check", http, notes);
    Some(pairs)
}

/// Fields of the requests of a check. Values with operators are left out.
fn check_fields(http: &ConfigNode, notes: &mut ConversionNotes) -> Vec<String> {
    let mut fields = Vec::new();
    for item in http.get("request_headers_to_add").map(ConfigNode::items).unwrap_or_default() {
        let header = item.get("header");
        let name = header.and_then(|header| take_text(header, "key", notes)).unwrap_or_default();
        let value = header.and_then(|header| take_text(header, "value", notes)).unwrap_or_default();
        let field = format!("{}: {value}", name.to_ascii_lowercase());
        if value.contains('%') || name.is_empty() || check_field(&field).is_err() {
            leave_out(item, "a check has fields with fixed values", "`probe.headers`", notes);
            continue;
        }
        for other in item.unread_entries() {
            note_changed(other, "a check has each of its fields once", "", notes);
        }
        fields.push(field);
    }
    fields
}

fn tcp_check(tcp: &ConfigNode, notes: &mut ConversionNotes) -> Option<Vec<KeyValue>> {
    let mut pairs = vec![KeyValue::new("tcp", "true")];
    if let Some(send) = tcp.get("send") {
        let text = take_text(send, "text", notes).and_then(decode_hex)?;
        pairs.push(KeyValue::new("send", value::quote(&text)));
    }
    let mut expected = Vec::new();
    for part in tcp.get("receive").map(ConfigNode::items).unwrap_or_default() {
        expected.push(escape_regex(&take_text(part, "text", notes).and_then(decode_hex)?));
    }
    if !expected.is_empty() {
        // The parts come in this order, with anything between them.
        pairs.push(KeyValue::new("expect", value::quote(&expected.join("(?s:.*)"))));
    }
    Some(pairs)
}

/// A text of hexadecimal digits. `None` if it is no text.
fn decode_hex(digits: &str) -> Option<String> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    String::from_utf8(bytes.filter(|_| digits.len().is_multiple_of(2))?).ok()
}

/// Writes `outlier_detection`. Without it no server is put out for its answers.
pub fn write_ejection(
    node: &ConfigNode,
    servers: usize,
    table: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    let Some(field) = node.get("outlier_detection") else {
        table.set("eject", value::quote("off"), SourcePlace::NONE);
        return;
    };
    let failures = take_number(field, "consecutive_5xx", notes).unwrap_or(5);
    let interval = take_time(field, "interval", notes).map_or(10_000, |time| time.ms);
    let time = take_time(field, "base_ejection_time", notes).map_or(30_000, |time| time.ms);
    let most = take_time(field, "max_ejection_time", notes).map_or(300_000, |time| time.ms);
    let share = take_number(field, "max_ejection_percent", notes).unwrap_or(10);
    // One server may always be put out.
    let least = 100_u64.div_ceil(servers.max(1) as u64);
    if interval > 60_000 {
        note_changed(field, "an interval lasts a minute at most", "`eject.interval`", notes);
    }
    let pairs = [
        KeyValue::new("failures", failures.clamp(1, 10_000).to_string()),
        KeyValue::new("on", value::quote("500-599")),
        KeyValue::new("rate", "100"),
        KeyValue::new("interval", format_duration(interval.clamp(200, 60_000))),
        KeyValue::new("base-time", format_duration(time.clamp(100, 86_400_000))),
        KeyValue::new("max-time", format_duration(most.max(time).clamp(100, 86_400_000))),
        KeyValue::new("max-percent", share.max(least).min(100).to_string()),
    ];
    table.set("eject", value::table(&pairs), field.source);
    notes.converted(field.source);
    settle_rest("outlier_detection", field, notes);
}
