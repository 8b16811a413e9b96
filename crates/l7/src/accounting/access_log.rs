//! Formats one line of the access log, as a JSON object or in the common log format with appended times.
//!
//! All external text is escaped and truncated, so that any exchange results in one line of at most `MAX_LINE_BYTES`
//! bytes. Absent values are left out (JSON) or written as `-`. Lines are written to a buffer only.
//!
//! JSON keys, in this order: `time`, `id`, `request-id` (if a trusted proxy sent one), `service`, `client` (then `connection`, `client-from`, `client-stop` and
//! `client-hops` if a proxy named the client, or should have), `protocol`, `method`, `target` (`target-bytes` if
//! truncated), `status`, `by`, `server` (as `POOL/NAME`), `attempts`, `reused`, `cause`, `defect`. A rejected request
//! adds `host`, `field`, `at` and `found`: the field that violated the rule, the offset of the violation, and the bytes
//! there. Then `bytes-from-client`, `bytes-to-client`, `bytes-to-server`, `bytes-from-server`, and times in
//! milliseconds: `accept-ms` and `tls-ms` (only for a connection's first exchange), `head-ms`, `queue-ms`,
//! `connect-ms`, `body-in-ms`, `first-byte-ms`, `transfer-ms`, `total-ms`. The key exchange groups follow: `tls-group`
//! (like `tls-ms`) and `server-tls-group` (if a connection was made). A slow exchange adds `owner` and `limit`: the
//! side that took most of the time, and why.
//!
//! Common: `client - - [time] "method target protocol" status bytes-to-client`. Appended:
//! `id service POOL/NAME cause attempts head/queue/connect/first-byte/transfer/total`, with times in milliseconds.
//! The cause of a malformed request is followed by `:` and the violated rule. The line of a malformed request ends with
//! `host="…" field="…" at=BYTES found="…"`, as far as these are known. A proxy's id follows as
//! `request-id="…"`. Where a proxy named the client,
//! `connection="…" client-from="…" client-stop="…" client-hops=N` follow.
//!
//! For malformed input, the method and the target are taken from its first line. If that line has no method, the whole
//! line is the target.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use model::client_address::display_client;
use model::config::AccessLogFormat;
use model::limit::TimeOwner;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::TimeShare;
use wire::http1::DefectDetail;

use super::date::Date;
use super::escape;
use super::exchange_record::ExchangeRecord;

/// Most bytes shown of a request target.
/// Longer targets are search strings and tokens, whose beginning identifies the request.
pub const TARGET: usize = 1024;
/// Most bytes shown of a method.
/// The longest method that the parser accepts.
pub const METHOD: usize = 32;
/// Most bytes shown of a name.
/// Names of services, pools and servers are shorter as a rule.
pub const NAME: usize = 128;
/// Most bytes shown of a rejected request's host.
/// The longest name of DNS (RFC 1035 §2.3.4).
pub const HOST: usize = 255;
/// Most bytes shown of the name of a field that violated a rule.
/// Cross-Origin-Embedder-Policy-Report-Only, a registered name, has 40 bytes.
pub const FIELD: usize = 64;
/// Most bytes shown at a violation.
/// Enough to recognise what was sent.
pub const FOUND: usize = 64;
/// Upper bound of a line's length: an escaped byte takes at most six bytes.
pub(super) const MAX_LINE_BYTES: usize =
    6 * (TARGET + METHOD + HOST + FIELD + FOUND + 5 * NAME) + 2304;

/// Converts a worker's monotonic times to wall-clock times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WallOrigin {
    /// Nanoseconds from 1970 to `MonotonicTime(0)`.
    pub origin_nanos: u64,
}

/// The client's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownstreamProtocol {
    Http10,
    Http11,
    Http2,
    Http3,
    Tcp,
}

impl DownstreamProtocol {
    pub const fn name(self) -> &'static str {
        match self {
            DownstreamProtocol::Http10 => "HTTP/1.0",
            DownstreamProtocol::Http11 => "HTTP/1.1",
            DownstreamProtocol::Http2 => "HTTP/2",
            DownstreamProtocol::Http3 => "HTTP/3",
            DownstreamProtocol::Tcp => "TCP",
        }
    }
}

/// The texts in a line, borrowed only while the line is written.
#[derive(Clone, Copy, Debug)]
pub struct LogFields<'a> {
    pub service: &'a str,
    /// The server of the last attempt.
    pub server: Option<LoggedServer<'a>>,
    pub client: SocketAddr,
    /// How the client was found; `None`: by the connection.
    pub origin: Option<ClientOrigin<'a>>,
    /// The request id that a trusted proxy sent.
    pub request_id: Option<&'a str>,
    pub protocol: DownstreamProtocol,
    /// The method; empty if no head was read.
    pub method: &'a [u8],
    /// The target; empty if no head was read.
    pub target: &'a [u8],
    /// The part of the request that violated a rule.
    pub offence: DefectDetail<'a>,
    /// The side that took most of a slow exchange's time.
    pub slow: Option<TimeShare>,
}

/// How a client was found that is not the peer of its connection, or that a trusted peer should have named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOrigin<'a> {
    /// The peer of the connection.
    pub connection: SocketAddr,
    /// `proxy-header`, or the name of the field.
    pub source: &'a str,
    /// Why no further address was taken from the field.
    pub stop: Option<&'static str>,
    /// Addresses that were taken.
    pub hops: u16,
}

/// A server as a line names it.
#[derive(Clone, Copy, Debug)]
pub struct LoggedServer<'a> {
    pub pool: &'a str,
    pub name: &'a str,
}

/// Appends the line with its line end.
pub fn write_line(
    record: &ExchangeRecord,
    names: &LogFields,
    format: AccessLogFormat,
    wall: WallOrigin,
    out: &mut Vec<u8>,
) {
    match format {
        AccessLogFormat::Json => write_json(record, names, wall, out),
        AccessLogFormat::Common => write_common(record, names, wall, out),
    }
    out.push(b'\n');
}

fn write_json(record: &ExchangeRecord, names: &LogFields, wall: WallOrigin, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"time\":\"");
    date(record.begun_at, wall).write_rfc3339(out);
    out.push(b'"');
    if let Some(id) = record.known_id() {
        text("id", id.as_str().as_bytes(), 16, out);
    }
    if let Some(id) = names.request_id {
        text("request-id", id.as_bytes(), NAME, out);
    }
    text("service", names.service.as_bytes(), NAME, out);
    // Writing to a Vec cannot fail.
    let _ = write!(out, ",\"client\":\"{}\"", display_client(names.client));
    if let Some(origin) = &names.origin {
        write_origin(origin, out);
    }
    let _ = write!(out, ",\"protocol\":\"{}\"", names.protocol.name());
    write_request_line(names, out);
    if record.status > 0 {
        number("status", record.status.into(), out);
        out.extend_from_slice(if record.local_reply {
            b",\"by\":\"us\""
        } else {
            b",\"by\":\"server\""
        });
    }
    if let Some(LoggedServer { pool, name }) = names.server {
        text("server", pool.as_bytes(), NAME, out);
        out.pop();
        out.push(b'/');
        escape::json(name.as_bytes(), NAME, out);
        out.push(b'"');
    }
    number("attempts", record.attempts.into(), out);
    if record.reused {
        out.extend_from_slice(b",\"reused\":true");
    }
    if let Some(cause) = record.cause {
        text("cause", cause.name().as_bytes(), NAME, out);
    }
    if let Some(defect) = record.defect {
        text("defect", defect.as_bytes(), NAME, out);
    }
    write_offence(&names.offence, out);
    number("bytes-from-client", record.bytes_from_client, out);
    number("bytes-to-client", record.bytes_to_client, out);
    number("bytes-to-server", record.bytes_to_server, out);
    number("bytes-from-server", record.bytes_from_server, out);
    let opening = record.sample.connection_setup;
    let [head, queue, connect, rest @ ..] = times(record);
    let accept = LoggedTime { key: "accept-ms", time: opening.map(|it| it.accept) };
    let tls = LoggedTime { key: "tls-ms", time: opening.and_then(|it| it.tls) };
    let body = LoggedTime { key: "body-in-ms", time: record.send_time() };
    let before = [accept, tls, head, queue, connect, body];
    for LoggedTime { key, time } in before.into_iter().chain(rest) {
        if let Some(time) = time {
            let _ = write!(out, ",\"{key}\":");
            millis(time, out);
        }
    }
    write_groups(record, out);
    if let Some(bar) = names.slow {
        text("owner", bar.owner.map_or("unknown", TimeOwner::name).as_bytes(), NAME, out);
        text("limit", bar.limit.code().as_bytes(), NAME, out);
    }
    out.push(b'}');
}

/// Writes the groups of the key exchanges.
fn write_groups(record: &ExchangeRecord, out: &mut Vec<u8>) {
    let groups = [
        ("tls-group", record.sample.connection_setup.and_then(|it| it.group)),
        ("server-tls-group", record.sample.server_group),
    ];
    for (key, group) in groups {
        if let Some(group) = group {
            text(key, group.as_bytes(), NAME, out);
        }
    }
}

/// Writes the connection's peer, and how the client was found.
fn write_origin(origin: &ClientOrigin, out: &mut Vec<u8>) {
    let _ = write!(out, ",\"connection\":\"{}\"", origin.connection);
    text("client-from", origin.source.as_bytes(), FIELD, out);
    if let Some(stop) = origin.stop {
        text("client-stop", stop.as_bytes(), FIELD, out);
        number("client-hops", origin.hops.into(), out);
    }
}

/// Writes what was received of a request line. A malformed request may have no method.
fn write_request_line(names: &LogFields, out: &mut Vec<u8>) {
    if !names.method.is_empty() {
        text("method", names.method, METHOD, out);
    }
    if !names.method.is_empty() || !names.target.is_empty() {
        text("target", names.target, TARGET, out);
        if names.target.len() > TARGET {
            number("target-bytes", names.target.len() as u64, out);
        }
    }
}

/// Writes the details of a violation: host, field, offset and bytes.
fn write_offence(offence: &DefectDetail, out: &mut Vec<u8>) {
    if !offence.host.is_empty() {
        text("host", offence.host, HOST, out);
    }
    if !offence.field.is_empty() {
        text("field", offence.field, FIELD, out);
    }
    if let Some(at) = offence.field_offset {
        number("at", at as u64, out);
    }
    if !offence.found_bytes.is_empty() {
        text("found", offence.found_bytes, FOUND, out);
    }
}

/// Appends the details of a violation to a line of the common format.
fn write_common_offence(offence: &DefectDetail, out: &mut Vec<u8>) {
    for (key, value, most) in [("host", offence.host, HOST), ("field", offence.field, FIELD)] {
        if !value.is_empty() {
            quoted(key, value, most, out);
        }
    }
    if let Some(at) = offence.field_offset {
        let _ = write!(out, " at={at}");
    }
    if !offence.found_bytes.is_empty() {
        quoted("found", offence.found_bytes, FOUND, out);
    }
}

fn quoted(key: &str, value: &[u8], most: usize, out: &mut Vec<u8>) {
    let _ = write!(out, " {key}=\"");
    escape::common(value, most, out);
    out.push(b'"');
}

fn write_common(record: &ExchangeRecord, names: &LogFields, wall: WallOrigin, out: &mut Vec<u8>) {
    let _ = write!(out, "{} - - [", names.client.ip());
    date(record.begun_at, wall).write_common(out);
    out.extend_from_slice(b"] \"");
    if names.method.is_empty() && names.target.is_empty() {
        out.push(b'-');
    } else if names.method.is_empty() {
        escape::common(names.target, TARGET, out);
    } else {
        escape::common(names.method, METHOD, out);
        out.push(b' ');
        escape::common(names.target, TARGET, out);
        let _ = write!(out, " {}", names.protocol.name());
    }
    let _ = match record.status {
        0 => write!(out, "\" - {} ", record.bytes_to_client),
        status => write!(out, "\" {status} {} ", record.bytes_to_client),
    };
    out.extend_from_slice(record.known_id().as_ref().map_or(b"-", |id| id.as_str().as_bytes()));
    out.push(b' ');
    escape::common(names.service.as_bytes(), NAME, out);
    out.push(b' ');
    match names.server {
        Some(LoggedServer { pool, name }) => {
            escape::common(pool.as_bytes(), NAME, out);
            out.push(b'/');
            escape::common(name.as_bytes(), NAME, out);
        }
        None => out.push(b'-'),
    }
    out.push(b' ');
    out.extend_from_slice(record.cause.map_or("-", |cause| cause.name()).as_bytes());
    if let Some(defect) = record.defect {
        let _ = write!(out, ":{defect}");
    }
    let _ = write!(out, " {} ", record.attempts);
    for (at, LoggedTime { time, .. }) in times(record).into_iter().enumerate() {
        if at > 0 {
            out.push(b'/');
        }
        match time {
            Some(time) => millis(time, out),
            None => out.push(b'-'),
        }
    }
    write_common_offence(&names.offence, out);
    if let Some(id) = names.request_id {
        quoted("request-id", id.as_bytes(), NAME, out);
    }
    if let Some(origin) = &names.origin {
        let _ = write!(out, " connection=\"{}\"", origin.connection);
        quoted("client-from", origin.source.as_bytes(), FIELD, out);
        if let Some(stop) = origin.stop {
            let _ = write!(out, " client-stop=\"{stop}\" client-hops={}", origin.hops);
        }
    }
}

/// A time of an exchange, under its JSON key.
struct LoggedTime {
    key: &'static str,
    time: Option<Duration>,
}

fn times(record: &ExchangeRecord) -> [LoggedTime; 6] {
    [
        LoggedTime { key: "head-ms", time: Some(record.head_at.since(record.begun_at)) },
        LoggedTime { key: "queue-ms", time: record.queue_time() },
        LoggedTime { key: "connect-ms", time: record.connect_time() },
        LoggedTime { key: "first-byte-ms", time: record.server_time() },
        LoggedTime { key: "transfer-ms", time: record.transfer_time() },
        LoggedTime { key: "total-ms", time: record.request_time() },
    ]
}

fn date(moment: MonotonicTime, wall: WallOrigin) -> Date {
    Date::from_unix_nanos(wall.origin_nanos.saturating_add(moment.0))
}

fn text(key: &str, value: &[u8], limit: usize, out: &mut Vec<u8>) {
    let _ = write!(out, ",\"{key}\":\"");
    escape::json(value, limit, out);
    out.push(b'"');
}

fn number(key: &str, value: u64, out: &mut Vec<u8>) {
    let _ = write!(out, ",\"{key}\":{value}");
}

/// Writes milliseconds with three decimals, so microseconds.
fn millis(time: Duration, out: &mut Vec<u8>) {
    let micros = time.as_micros();
    let _ = write!(out, "{}.{:03}", micros / 1000, micros % 1000);
}

#[cfg(test)]
mod tests;
