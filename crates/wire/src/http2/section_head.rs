//! Writes decoded heads and trailers as HTTP/1.1.
//!
//! The rules for the fields themselves are those of `request` and `response`. Only the order and the number of
//! pseudo-header fields are checked here.

use super::body::Http1BodyFraming;
use super::request::{self, RequestHead};
use super::response::{self, ResponseHead};
use crate::field_section::FieldSection;
use crate::http1::Defect;
use crate::http1::token::{is_token, is_value_byte};

/// The properties of a written request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenHead {
    /// The framing for the body after the head.
    pub body: Http1BodyFraming,
    pub head_only: bool,
}

/// Whether the request asks for a tunnel (RFC 8441, RFC 9220), which needs a `Sec-WebSocket-Key`.
pub fn is_extended_connect(fields: &FieldSection) -> bool {
    fields.get(b":protocol").is_some()
}

/// Appends a request's head as HTTP/1.1. `ended`: the stream ends with the head. `key`: see [`super::write_request`].
/// `violation` names pseudo-header fields that are unknown, repeated, or not first.
///
/// # Errors
/// The rule that the head violates. The bytes appended so far are then useless.
pub fn write_section(
    fields: &FieldSection,
    ended: bool,
    key: &[u8],
    violation: Defect,
    out: &mut Vec<u8>,
) -> Result<WrittenHead, Defect> {
    let mut method = None;
    let mut head = RequestHead { end_stream: ended, ..RequestHead::default() };
    let mut pseudo = 0;
    for (name, value) in fields.iter() {
        if name.first() != Some(&b':') {
            continue;
        }
        let slot = match name {
            b":method" => &mut method,
            b":scheme" => &mut head.scheme,
            b":authority" => &mut head.authority,
            b":path" => &mut head.path,
            b":protocol" => &mut head.protocol,
            _ => return Err(violation),
        };
        if slot.replace(value).is_some() {
            return Err(violation);
        }
        pseudo += 1;
    }
    // Pseudo-header fields precede all others (RFC 9113 §8.3, RFC 9114 §4.3).
    if fields.iter().take(pseudo).any(|(name, _)| name.first() != Some(&b':')) {
        return Err(violation);
    }
    head.method = method.ok_or(Defect::PseudoMissing)?;
    if head.scheme.is_none() && head.method != b"CONNECT" {
        return Err(Defect::PseudoMissing);
    }
    let body = request::write_request(&head, fields.iter().skip(pseudo), key, out)?;
    Ok(WrittenHead { body, head_only: head.method == b"HEAD" })
}

/// The status of a response's head; 0 if it has none.
pub fn response_status(fields: &FieldSection) -> u16 {
    let status = fields.get(b":status").and_then(|value| std::str::from_utf8(value).ok());
    status.and_then(|status| status.parse().ok()).unwrap_or_default()
}

/// Appends a response's head as HTTP/1.1. The status of `head` is replaced by that of the fields.
///
/// # Errors
/// The rule that the head violates. The bytes appended so far are then useless.
pub fn write_response_section(
    fields: &FieldSection,
    head: &ResponseHead<'_>,
    out: &mut Vec<u8>,
) -> Result<Http1BodyFraming, Defect> {
    let head = ResponseHead { status: response_status(fields), ..*head };
    let regular = fields.iter().filter(|(name, _)| *name != b":status");
    response::write_response(&head, regular, out)
}

/// Appends trailers as lines of HTTP/1.1.
///
/// # Errors
/// The rule that the trailers violate.
pub fn write_trailer_lines(fields: &FieldSection, out: &mut Vec<u8>) -> Result<(), Defect> {
    for (name, value) in fields.iter() {
        if !is_token(name) || name.iter().any(u8::is_ascii_uppercase) {
            return Err(Defect::BadTrailer);
        }
        if !value.iter().all(|&byte| is_value_byte(byte)) {
            return Err(Defect::BadTrailer);
        }
        for part in [name, b": ", value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_become_http11() {
        let mut fields = FieldSection::default();
        fields.push(b":status", b"200");
        fields.push(b"server", b"x");
        let head = ResponseHead { status: 0, end_stream: false, head_only: false, accept: None };
        let mut out = Vec::new();
        let body = write_response_section(&fields, &head, &mut out);
        assert_eq!(body, Ok(Http1BodyFraming::Chunked));
        assert_eq!(out, b"HTTP/1.1 200 \r\nserver: x\r\ntransfer-encoding: chunked\r\n\r\n");
        assert_eq!(response_status(&FieldSection::default()), 0);
    }
}
