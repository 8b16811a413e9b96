//! Fields and cookies of a request for the access log: copied with its head, as the client sent them, and written at its
//! end.

use std::borrow::Cow;

use model::config::{AccessLogField, LogSource};
use model::request_head;
use wire::http1::Header;

use super::line_limits::VALUE;

/// The values of one request, in the order of the configured fields.
#[derive(Clone, Debug, Default)]
pub struct CapturedFields {
    /// All values, one behind the other.
    bytes: Vec<u8>,
    /// Where each ends. A field that is none of the request's has an empty value.
    ends: Vec<usize>,
}

impl CapturedFields {
    /// The values of a request with these headers. `show`: what may be shown of a value.
    pub fn capture(
        fields: &[AccessLogField],
        headers: &[Header],
        show: impl for<'v> Fn(&LogSource, &'v [u8]) -> Cow<'v, [u8]>,
    ) -> CapturedFields {
        let mut bytes = Vec::new();
        let ends = fields.iter().map(|field| {
            let value = &*show(&field.source, find_value(&field.source, headers));
            // One byte more than is shown, so that the line shows that something was cut.
            bytes.extend_from_slice(value.get(..=VALUE).unwrap_or(value));
            bytes.len()
        });
        let ends = ends.collect();
        CapturedFields { bytes, ends }
    }

    /// The value of the field at this position; empty: the request had none.
    pub fn value(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or_default();
        self.bytes.get(start.unwrap_or_default()..end).unwrap_or_default()
    }
}

/// Whether a field is captured with the head.
pub fn is_captured(source: &LogSource) -> bool {
    matches!(source, LogSource::Cookie(_)) || source.request_field().is_some()
}

/// The first value of the field or cookie; empty: there is none.
fn find_value<'h>(source: &LogSource, headers: &'h [Header]) -> &'h [u8] {
    if let LogSource::Cookie(name) = source {
        let all = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("cookie"));
        let mut own = all.flat_map(|header| request_head::cookies(header.value, name.as_bytes()));
        return own.next().unwrap_or_default();
    }
    let Some(name) = source.request_field() else { return &[] };
    let own = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    own.map_or(&[], |header| header.value.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_each_is_found_and_long_ones_are_bounded() {
        let names =
            ["header.X-A", "status", "cookie.s", "host", "referer", "user-agent", "cookie.t"];
        let fields = names.map(|name| AccessLogField::parse(name).unwrap());
        let long = "u".repeat(300);
        let header = |name, value: &'static [u8]| Header { name, value };
        let headers = [
            header("Host", b"a.example"),
            header("x-a", b" 1\xff\x1b "),
            header("X-A", b"second"),
            header("Cookie", b"a=1"),
            header("cookie", b"t=; s=2; s=3"),
            Header { name: "User-Agent", value: long.as_bytes() },
        ];
        let captured = CapturedFields::capture(&fields, &headers, |_, value| value.into());
        let values: Vec<&[u8]> = (0..8).map(|at| captured.value(at)).collect();
        let agent = &long.as_bytes()[..=VALUE];
        assert_eq!(values, [&b"1\xff\x1b"[..], b"", b"2", b"a.example", b"", agent, b"", b""]);
    }
}
