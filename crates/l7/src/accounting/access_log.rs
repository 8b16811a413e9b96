//! Formats one line of the access log: as a JSON object, as logfmt, in the common log format with appended times, in
//! the combined log format, or in CEF.
//!
//! All external text is escaped and truncated, so that any exchange results in one line of at most `MAX_LINE_BYTES`
//! bytes. Absent values are left out (JSON) or written as `-`. Lines are written to a buffer only.
//!
//! JSON has the configured fields in their order, by default those that `LogVariable` lists as such.
//!
//! Common: `client - - [time] "method target protocol" status bytes-to-client`. Appended:
//! `id service POOL/NAME cause attempts head/queue/connect/first-byte/transfer/total`, with times in milliseconds.
//! The cause of a malformed request is followed by `:` and the violated rule. The line of a malformed request ends with
//! `host="…" field="…" at=BYTES found="…"`, as far as these are known. A proxy's id follows as
//! `request-id="…"`. Where a proxy named the client,
//! `connection="…" client-from="…" client-stop="…" client-hops=N` follow.
//!
//! Combined: the common log format, and then `"REFERER" "USER-AGENT"`. Logfmt: the fields of JSON as `name=value`.
//!
//! For malformed input, the method and the target are taken from its first line. If that line has no method, the whole
//! line is the target.

use model::config::{AccessLogField, AccessLogFormat};

use super::cef_line;
use super::common_line;
use super::date::WallOrigin;
use super::exchange_record::ExchangeRecord;
use super::line_facts::LineFacts;
use super::line_writer::{LineForm, LineWriter};
use super::log_fields::LogFields;

/// Appends the line with its line end. `fields`: what it has; empty: what it has by default.
pub fn write_line(
    record: &ExchangeRecord,
    names: &LogFields,
    format: AccessLogFormat,
    fields: &[AccessLogField],
    wall: WallOrigin,
    out: &mut Vec<u8>,
) {
    match format {
        AccessLogFormat::Json | AccessLogFormat::Logfmt => {
            let form =
                if format == AccessLogFormat::Json { LineForm::Json } else { LineForm::Logfmt };
            let mut line = LineWriter::begin(form, out);
            LineFacts { record, names, wall }.write(fields, &mut line);
            line.end();
        }
        AccessLogFormat::Common => common_line::write_common(record, names, wall, out),
        AccessLogFormat::Cef => cef_line::write_cef(record, names, wall, out),
        AccessLogFormat::Combined => common_line::write_combined(record, names, wall, out),
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests;
