//! Writes a line of the access log in the Common Event Format (CEF) of log collectors and SIEM systems.
//!
//! `CEF:0|Steelyard|Steelyard|VERSION|ID|NAME|SEVERITY|KEY=VALUE KEY=VALUE`. The keys are those of the format's
//! dictionary ("Implementing ArcSight Common Event Format", version 25); what it has no key for stands in `cs1` to `cs6`,
//! `cn1` and `cfp1`, each with its label. Absent values are left out.

use std::io::Write;
use std::net::IpAddr;

use super::date::WallOrigin;
use super::escape;
use super::exchange_record::ExchangeRecord;
use super::line_limits::{FIELD, HOST, METHOD, NAME, TARGET, VALUE};
use super::log_fields::{DownstreamProtocol, LogFields, LoggedServer};

/// From 0 to 10, as the format has them: low to 3, medium to 6, then high.
const ANSWERED: u8 = 1;
const CLIENT_ERROR: u8 = 4;
const FAILED: u8 = 6;

/// The version of the product in the line.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn write_cef(
    record: &ExchangeRecord,
    names: &LogFields,
    wall: WallOrigin,
    out: &mut Vec<u8>,
) {
    write_head(record, names, out);
    out.extend_from_slice(b"rt=");
    wall.date(record.begun_at).write_month_first(out);
    write_client(names, out);
    let _ = write!(out, " spt={} app={}", names.client.port(), names.protocol.name());
    text("requestMethod", names.method, METHOD, out);
    text("request", names.target, TARGET, out);
    for (at, (key, most)) in
        [("dhost", HOST), ("requestClientApplication", VALUE), ("requestContext", VALUE)]
            .into_iter()
            .enumerate()
    {
        let value = names.further.captured.map_or(&b""[..], |captured| captured.value(at));
        let refused = names.offence.host;
        text(key, if value.is_empty() && at == 0 { refused } else { value }, most, out);
    }
    if record.status > 0 {
        let _ = write!(out, " outcome={}", record.status);
    }
    text("reason", record.cause.map_or("", |cause| cause.name()).as_bytes(), NAME, out);
    let _ = write!(out, " in={} out={}", record.bytes_from_client, record.bytes_to_client);
    if let Some(id) = record.known_id() {
        text("externalId", id.as_str().as_bytes(), NAME, out);
    }
    write_labelled(record, names, out);
}

/// The part between pipes.
fn write_head(record: &ExchangeRecord, names: &LogFields, out: &mut Vec<u8>) {
    let _ = write!(out, "CEF:0|Steelyard|Steelyard|{VERSION}|");
    let what = if names.protocol == DownstreamProtocol::Tcp { "connection" } else { "request" };
    let severity = match (record.cause, record.status) {
        (_, 400..=499) => CLIENT_ERROR,
        (Some(_), _) | (None, 500..) => FAILED,
        (None, _) => ANSWERED,
    };
    let result = if severity == ANSWERED { "completed" } else { "failed" };
    // Names of causes and numbers have nothing to escape.
    let _ = match (record.cause, record.status) {
        (Some(cause), _) => write!(out, "{}", cause.name()),
        (None, 0) => write!(out, "{what}"),
        (None, status) => write!(out, "{status}"),
    };
    let _ = write!(out, "|{what} {result}|{severity}|");
}

/// `src` is an address of IPv4; the format has another key for IPv6.
fn write_client(names: &LogFields, out: &mut Vec<u8>) {
    let _ = match names.client.ip().to_canonical() {
        IpAddr::V4(client) => write!(out, " src={client}"),
        IpAddr::V6(client) => write!(out, " c6a2Label=Source IPv6 Address c6a2={client}"),
    };
}

/// What the dictionary has no key for.
fn write_labelled(record: &ExchangeRecord, names: &LogFields, out: &mut Vec<u8>) {
    labelled("cs1", "service", names.service.as_bytes(), NAME, out);
    if let Some(LoggedServer { pool, name }) = names.server {
        out.extend_from_slice(b" cs2Label=server cs2=");
        escape::cef(pool.as_bytes(), NAME, out);
        out.push(b'/');
        escape::cef(name.as_bytes(), NAME, out);
    }
    if let Some(defect) = record.defect {
        labelled("cs3", "defect", defect.as_bytes(), NAME, out);
    }
    if let Some(id) = names.request_id {
        labelled("cs4", "request-id", id.as_bytes(), NAME, out);
    }
    if let Some(origin) = &names.origin {
        let _ = write!(out, " cs5Label=connection cs5={}", origin.connection);
        labelled("cs6", "client-from", origin.source.as_bytes(), FIELD, out);
    }
    if let Some(time) = record.request_time() {
        let _ = write!(out, " cn1Label=total-ms cn1={}", time.as_millis());
    }
    let _ = write!(out, " cn2Label=attempts cn2={}", record.attempts);
    if let Some(weight) = names.weight {
        let _ = write!(out, " cfp1Label=weight cfp1={weight}");
    }
}

/// A text that is not empty.
fn text(key: &str, value: &[u8], most: usize, out: &mut Vec<u8>) {
    if !value.is_empty() {
        let _ = write!(out, " {key}=");
        escape::cef(value, most, out);
    }
}

fn labelled(key: &str, label: &str, value: &[u8], most: usize, out: &mut Vec<u8>) {
    if !value.is_empty() {
        let _ = write!(out, " {key}Label={label}");
        text(key, value, most, out);
    }
}
