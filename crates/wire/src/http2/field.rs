//! Checks one HTTP/2 field and writes it as a line of HTTP/1.1.
//!
//! Hop-by-hop fields are detected; all other fields pass without interpretation.

use crate::http1::Defect;
use crate::http1::header_name::{HeaderField, classify_header};
use crate::http1::token::{is_token, is_value_byte};

/// How a field is treated when a head is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldRole {
    /// Written unchanged.
    Plain,
    Host,
    Length,
    /// Cookie: several fields are merged into one (RFC 9113 §8.2.3).
    Cookie,
    Dropped,
}

/// Checks that a field is allowed in HTTP/2, and classifies it.
///
/// # Errors
/// The violated rule.
pub(super) fn field_role(name: &[u8], value: &[u8]) -> Result<FieldRole, Defect> {
    if !is_token(name) || name.iter().any(u8::is_ascii_uppercase) {
        return Err(Defect::BadName);
    }
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if !value.iter().all(|&byte| is_value_byte(byte)) || blank(value.first()) || blank(value.last())
    {
        return Err(Defect::BadValue);
    }
    match classify_header(name) {
        HeaderField::Connection
        | HeaderField::KeepAlive
        | HeaderField::ProxyConnection
        | HeaderField::TransferEncoding
        | HeaderField::Upgrade => Err(Defect::HopByHop),
        HeaderField::Te if !value.eq_ignore_ascii_case(b"trailers") => Err(Defect::HopByHop),
        HeaderField::Http2Settings => Ok(FieldRole::Dropped),
        HeaderField::Host => Ok(FieldRole::Host),
        HeaderField::ContentLength => Ok(FieldRole::Length),
        HeaderField::Other if name == b"cookie" => Ok(FieldRole::Cookie),
        _ => Ok(FieldRole::Plain),
    }
}

pub(super) fn append_line(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for part in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

/// The value of a Content-Length; the head's parser reports an invalid one.
pub(super) fn length(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
