//! Writes a line of the access log in the common log format with times appended, or in the combined log format.

use std::io::Write;
use std::time::Duration;

use wire::http1::DefectDetail;

use super::date::{WallOrigin, write_millis};
use super::escape;
use super::exchange_record::ExchangeRecord;
use super::line_limits::{FIELD, FOUND, HOST, METHOD, NAME, TARGET, VALUE};
use super::log_fields::{LogFields, LoggedServer};

/// The common log format alone.
fn write_start(record: &ExchangeRecord, names: &LogFields, wall: WallOrigin, out: &mut Vec<u8>) {
    let _ = write!(out, "{} - - [", names.client.ip());
    wall.date(record.begun_at).write_common(out);
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
        0 => write!(out, "\" - {}", record.bytes_to_client),
        status => write!(out, "\" {status} {}", record.bytes_to_client),
    };
}

/// The combined log format, as Apache httpd and nginx write it. The two fields are captured in this order.
pub(super) fn write_combined(
    record: &ExchangeRecord,
    names: &LogFields,
    wall: WallOrigin,
    out: &mut Vec<u8>,
) {
    write_start(record, names, wall, out);
    for at in 0..2 {
        let value = names.further.captured.map_or(&b""[..], |captured| captured.value(at));
        out.extend_from_slice(b" \"");
        escape::common(if value.is_empty() { b"-" } else { value }, VALUE, out);
        out.push(b'"');
    }
}

pub(super) fn write_common(
    record: &ExchangeRecord,
    names: &LogFields,
    wall: WallOrigin,
    out: &mut Vec<u8>,
) {
    write_start(record, names, wall, out);
    out.push(b' ');
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
    for (at, time) in times(record).into_iter().enumerate() {
        if at > 0 {
            out.push(b'/');
        }
        match time {
            Some(time) => write_millis(time, out),
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
    if let Some(weight) = names.weight {
        let _ = write!(out, " weight={weight}");
    }
}

/// From the head to the total.
fn times(record: &ExchangeRecord) -> [Option<Duration>; 6] {
    [
        Some(record.head_at.since(record.begun_at)),
        record.queue_time(),
        record.connect_time(),
        record.server_time(),
        record.transfer_time(),
        record.request_time(),
    ]
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
