//! Spans and log records in the JSON form of OTLP 1.x: names in camel case, ids in hexadecimal, 64-bit numbers as text.
//!
//! Pure. Names of attributes are those of OpenTelemetry's conventions where there are any, and `steelyard.` ones.

use model::cause::Side;
use model::config::{EventLevel, TelemetryConfig};
use model::id::{ServerId, ServiceId};
use model::time_attribution::{ExchangeMeasurement, ExchangePhases, attribute_time};
use serde_json::{Value, json};

use crate::state::StateSnapshot;
use crate::util::event::DaemonEvent;

/// The kind of server spans (`SPAN_KIND_SERVER`).
const SERVER: u8 = 2;
/// Of a span's status: it failed (`STATUS_CODE_ERROR`).
const ERROR: u8 = 2;

/// A span of an exchange that ended then, nanoseconds since 1970.
pub fn span_json(facts: &ExchangeMeasurement, snapshot: &StateSnapshot, ended: u64) -> Value {
    let traced = facts.trace.unwrap_or_default();
    let services = &snapshot.snapshot.services;
    let service = services.get(&ServiceId(facts.service)).map(|view| view.config.name.as_str());
    let server = facts.server.and_then(|id| snapshot.servers.get(&ServerId(id)));
    let cause = facts.end_cause();
    let mut attributes = vec![
        text("client.address", &facts.client.to_string()),
        text("steelyard.service", service.unwrap_or_default()),
        number("steelyard.attempts", u64::from(facts.attempts)),
    ];
    if facts.status > 0 {
        attributes.push(number("http.response.status_code", u64::from(facts.status)));
    }
    if let Some(facts) = server {
        let name = format!("{}/{}", facts.pool_name, facts.config.name);
        attributes.push(text("steelyard.server", &name));
        attributes.push(text("server.address", &facts.config.address.to_string()));
    }
    if let Some(cause) = cause {
        attributes.push(text("steelyard.cause", cause.name()));
    }
    if let Some(bar) = attribute_time(facts).largest() {
        attributes.push(text("steelyard.owner", bar.owner.map_or("unknown", |owner| owner.name())));
        attributes.push(text("steelyard.limit", bar.limit.code()));
    }
    for (name, nanos) in
        ExchangePhases::NAMES.iter().zip(facts.phases.values()).filter(|(_, it)| *it > 0)
    {
        attributes.push(number(&format!("steelyard.phase.{name}_us"), nanos / 1_000));
    }
    // A client's mistake is no error of a server span (OpenTelemetry's HTTP conventions).
    let failed = cause.is_some_and(|cause| cause.side() != Side::Client) || facts.status >= 500;
    let mut span = json!({
        "traceId": format!("{:032x}", traced.trace),
        "spanId": format!("{:016x}", facts.id),
        "name": service.unwrap_or("exchange"),
        "kind": SERVER,
        "startTimeUnixNano": ended.saturating_sub(facts.total).to_string(),
        "endTimeUnixNano": ended.to_string(),
        "attributes": attributes,
        "status": if failed { json!({ "code": ERROR }) } else { json!({}) },
    });
    if traced.parent != 0 {
        span["parentSpanId"] = Value::String(format!("{:016x}", traced.parent));
    }
    span
}

/// A log record of an event.
pub fn log_record_json(event: &DaemonEvent) -> Value {
    let (severity, word) = match event.level {
        EventLevel::Info => (9, "INFO"),
        EventLevel::Warning => (13, "WARN"),
        EventLevel::Error => (17, "ERROR"),
    };
    let about = event.about.iter().map(|(key, value)| text(&format!("steelyard.{key}"), value));
    let at = event.at_ms.saturating_mul(1_000_000).to_string();
    json!({
        "timeUnixNano": at,
        "observedTimeUnixNano": at,
        "severityNumber": severity,
        "severityText": word,
        "eventName": event.kind,
        "body": { "stringValue": event.text },
        "attributes": about.collect::<Vec<_>>(),
    })
}

/// The body of a request with spans.
pub fn traces_body(collector: &TelemetryConfig, spans: Vec<Value>) -> Value {
    let scoped = json!([{ "scope": scope(), "spans": spans }]);
    json!({ "resourceSpans": [{ "resource": resource(collector), "scopeSpans": scoped }] })
}

/// The body of a request with log records.
pub fn logs_body(collector: &TelemetryConfig, records: Vec<Value>) -> Value {
    let scoped = json!([{ "scope": scope(), "logRecords": records }]);
    json!({ "resourceLogs": [{ "resource": resource(collector), "scopeLogs": scoped }] })
}

fn scope() -> Value {
    json!({ "name": "steelyard", "version": env!("CARGO_PKG_VERSION") })
}

fn resource(collector: &TelemetryConfig) -> Value {
    json!({ "attributes": [
        text("service.name", &collector.name),
        text("service.version", env!("CARGO_PKG_VERSION")),
        number("process.pid", u64::from(std::process::id())),
    ] })
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::cause::Cause;
    use model::time_attribution::ExchangeTrace;

    use super::*;
    use crate::observability::report::fixture;

    const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8080"
forward = "http"
pool = "web"

[pool.web]
servers = [{ name = "a", address = "127.0.0.1:1001" }]
"#;

    fn facts() -> ExchangeMeasurement {
        let mut facts = ExchangeMeasurement::from_total([192, 0, 2, 1].into(), 2_000_000);
        facts.id = 0xff;
        facts.status = 200;
        facts.server = Some(0);
        facts.trace = Some(ExchangeTrace { trace: 0xabc, parent: 0xdef, sampled: true });
        facts
    }

    fn value<'v>(span: &'v Value, key: &str) -> Option<&'v Value> {
        let attributes = span["attributes"].as_array()?;
        attributes.iter().find(|one| one["key"] == key).map(|one| &one["value"])
    }

    #[test]
    fn a_span_says_where_it_belongs_when_it_was_and_who_answered() {
        let snapshot = fixture::state_snapshot(TEXT, 1);
        let mut facts = facts();
        facts.service = snapshot.snapshot.services.keys().next().unwrap().0;
        let server = snapshot.servers.keys().next().unwrap();
        facts.server = Some(server.0);
        let span = span_json(&facts, &snapshot, 10_000_000);
        assert_eq!(span["traceId"], "00000000000000000000000000000abc");
        assert_eq!(
            (&span["spanId"], &span["parentSpanId"]),
            (&json!("00000000000000ff"), &json!("0000000000000def"))
        );
        assert_eq!(
            (&span["startTimeUnixNano"], &span["endTimeUnixNano"]),
            (&json!("8000000"), &json!("10000000"))
        );
        assert_eq!((&span["name"], &span["status"]), (&json!("shop"), &json!({})));
        assert_eq!(value(&span, "steelyard.server"), Some(&json!({ "stringValue": "web/a" })));
        assert_eq!(value(&span, "http.response.status_code"), Some(&json!({ "intValue": "200" })));
    }

    #[test]
    fn failures_of_ours_are_failures_and_what_began_here_has_no_parent() {
        let snapshot = fixture::state_snapshot(TEXT, 1);
        let failed = |change: &dyn Fn(&mut ExchangeMeasurement)| {
            let mut facts = facts();
            change(&mut facts);
            span_json(&facts, &snapshot, 10)["status"]["code"] == ERROR
        };
        assert!(failed(&|facts| facts.status = 503));
        assert!(failed(&|facts| facts.cause = Some(Cause::ConnectTimeout as u8)));
        assert!(!failed(&|facts| facts.cause = Some(Cause::ClientReset as u8)));
        let mut begun = facts();
        begun.trace = Some(ExchangeTrace { trace: 1, parent: 0, sampled: true });
        assert!(span_json(&begun, &snapshot, 10).get("parentSpanId").is_none());
    }

    #[test]
    fn an_event_is_a_record_with_what_it_is_about() {
        let about = BTreeMap::from([("server", "web/a".to_owned())]);
        let at_ms = 5;
        let level = EventLevel::Warning;
        let text = "web/a is down".to_owned();
        let event = DaemonEvent { at_ms, level, kind: "server-down", text, about };
        let record = log_record_json(&event);
        assert_eq!(
            (&record["severityNumber"], &record["timeUnixNano"]),
            (&json!(13), &json!("5000000"))
        );
        assert_eq!(record["body"]["stringValue"], "web/a is down");
        assert_eq!(value(&record, "steelyard.server"), Some(&json!({ "stringValue": "web/a" })));
    }
}
