//! Writes an HTTP/3 request head (RFC 9114 §4.3.1) as HTTP/1.1.
//!
//! [`crate::http1::parse_request`] then parses the result. [`crate::http2::write_section`] checks the rules that HTTP/3
//! shares with HTTP/2.

use crate::field_section::FieldSection;
use crate::http1::Defect;
use crate::http2::{self, WrittenHead};

/// Appends the head as HTTP/1.1. `ended`: the stream ends with the head. `key`: see [`http2::write_request`].
///
/// # Errors
/// The rule that the head violates. The bytes appended so far are then useless.
pub fn write_request(
    fields: &FieldSection,
    ended: bool,
    key: &[u8],
    out: &mut Vec<u8>,
) -> Result<WrittenHead, Defect> {
    http2::write_section(fields, ended, key, Defect::Http3Protocol, out)
}

#[cfg(test)]
mod tests {
    use super::super::qpack;
    use super::*;
    use crate::http1::{HeadLimits, HeaderSlots, parse_request};
    use crate::http2::{Http1BodyFraming, is_extended_connect, write_trailer_lines};

    type RequestCase = &'static [(&'static str, &'static str)];

    fn fields(fields: &[(&str, &str)]) -> FieldSection {
        let mut block = Vec::new();
        qpack::begin_field_section(&mut block);
        fields.iter().for_each(|(name, value)| {
            qpack::append_field(name.as_bytes(), value.as_bytes(), &mut block);
        });
        qpack::decode(&block, 1 << 16).unwrap()
    }

    fn written(row: &[(&str, &str)], ended: bool) -> Result<(String, Http1BodyFraming), Defect> {
        let mut out = Vec::new();
        let head = write_request(&fields(row), ended, b"dGhlIHNhbXBsZSBub25jZQ==", &mut out)?;
        let mut slots = HeaderSlots::new();
        let parsed =
            parse_request(&out, &HeadLimits::default(), &mut slots)?.ok_or(Defect::Malformed)?;
        assert_eq!(parsed.head_len, out.len());
        Ok((String::from_utf8(out).unwrap(), head.body))
    }

    const GET: [(&str, &str); 4] =
        [(":method", "GET"), (":scheme", "https"), (":authority", "a.example"), (":path", "/p?q")];

    #[test]
    fn heads_become_http11() {
        let with = |more: &[(&'static str, &'static str)]| [&GET[..], more].concat();
        let (text, body) =
            written(&with(&[("cookie", "a=1"), ("x", "y"), ("cookie", "b=2")]), true).unwrap();
        assert_eq!(
            text,
            "GET /p?q HTTP/1.1\r\nhost: a.example\r\nx: y\r\ncookie: a=1; b=2\r\n\r\n"
        );
        assert_eq!(body, Http1BodyFraming::None);
        let (text, body) = written(&with(&[]), false).unwrap();
        assert!(text.ends_with("transfer-encoding: chunked\r\n\r\n"), "{text}");
        assert_eq!(body, Http1BodyFraming::Chunked);
        let (_, body) = written(&with(&[("content-length", "7")]), false).unwrap();
        assert_eq!(body, Http1BodyFraming::Length(7));
        let tunnel = [
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "https"),
            (":path", "/chat"),
            (":authority", "a.example"),
            ("sec-websocket-version", "13"),
        ];
        assert!(is_extended_connect(&fields(&tunnel)) && !is_extended_connect(&fields(&GET)));
        let (text, body) = written(&tunnel, false).unwrap();
        assert!(text.starts_with("GET /chat HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), "{text}");
        assert_eq!(body, Http1BodyFraming::Raw);
    }

    #[test]
    fn what_a_client_may_not_send_is_named() {
        use Defect::{
            AuthorityMismatch, BadName, BadValue, ConnectRefused, HopByHop, Http3Protocol,
            LengthMismatch, PseudoMissing, TargetForm,
        };
        let rows: [(RequestCase, Defect); 17] = [
            (&[], PseudoMissing),
            (&[(":method", "GET"), (":path", "/")], PseudoMissing),
            (&[(":method", "GET"), (":scheme", "https")], PseudoMissing),
            (&[(":method", "GET"), (":scheme", "https"), (":path", "")], TargetForm),
            (&[(":method", "GET"), (":method", "GET")], Http3Protocol),
            (&[(":method", "GET"), (":status", "200")], Http3Protocol),
            (
                &[(":method", "GET"), ("x", "y"), (":scheme", "https"), (":path", "/")],
                Http3Protocol,
            ),
            (&[(":method", "CONNECT"), (":authority", "a:1")], ConnectRefused),
            (&[("host", "b.example")], AuthorityMismatch),
            (&[("connection", "close")], HopByHop),
            (&[("transfer-encoding", "chunked")], HopByHop),
            (&[("te", "gzip")], HopByHop),
            (&[("Upper", "x")], BadName),
            (&[("a b", "x")], BadName),
            (&[("x", "a\r\nb: c")], BadValue),
            (&[("x", "a\0b")], BadValue),
            (&[("content-length", "7")], LengthMismatch),
        ];
        for (row, wanted) in rows {
            let whole = match row.first().is_some_and(|(name, _)| name.starts_with(':')) {
                true => row.to_vec(),
                false if row.is_empty() => Vec::new(),
                false => [&GET[..], row].concat(),
            };
            assert_eq!(written(&whole, true).map(|_| ()), Err(wanted), "{row:?}");
        }
    }

    #[test]
    fn trailers_become_lines() {
        let mut out = Vec::new();
        write_trailer_lines(&fields(&[("grpc-status", "0"), ("x", "y z")]), &mut out).unwrap();
        assert_eq!(out, b"grpc-status: 0\r\nx: y z\r\n");
        for row in [(":path", "/"), ("X", "y"), ("x", "a\r\nb")] {
            assert_eq!(
                write_trailer_lines(&fields(&[row]), &mut out),
                Err(Defect::BadTrailer),
                "{row:?}"
            );
        }
    }
}
