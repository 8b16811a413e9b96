//! Trailer lines (RFC 9110 §6.5): which are well formed, and which may pass.
//!
//! A trailer is merged by some receivers into the head, so whatever frames, routes, authenticates or describes the
//! message is dropped. Everything else passes.

use super::defect::Defect;
use super::name::{Field, classify};
use super::token::{is_token, is_value_byte};

/// Whether a trailer line, without its line end, may pass.
///
/// # Errors
///
/// [`Defect::BadTrailer`] when it is no field line.
pub(crate) fn passes(line: &[u8]) -> Result<bool, Defect> {
    let colon = memchr::memchr(b':', line).ok_or(Defect::BadTrailer)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if !is_token(name) || !value.iter().all(|&byte| is_value_byte(byte)) {
        return Err(Defect::BadTrailer);
    }
    let listed = FORBIDDEN.iter().any(|wanted| name.eq_ignore_ascii_case(wanted.as_bytes()));
    Ok(!listed && classify(name) == Field::Other)
}

/// Beside every field that the codec itself treats.
const FORBIDDEN: &[&str] = &[
    "age",
    "authorization",
    "cache-control",
    "content-encoding",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expires",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "location",
    "max-forwards",
    "origin",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "retry-after",
    "set-cookie",
    "vary",
    "warning",
    "www-authenticate",
    "x-real-ip",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        assert_eq!(passes(b"X-Sum: 1"), Ok(true));
        assert_eq!(passes(b"grpc-status:0"), Ok(true));
        for dropped in ["Content-Length: 1", "host: a", "AUTHORIZATION: x", "Transfer_Encoding: x"]
        {
            assert_eq!(passes(dropped.as_bytes()), Ok(false), "{dropped}");
        }
        for bad in ["", "x", ":x", "a b: x", " a: x", "a: \0"] {
            assert_eq!(passes(bad.as_bytes()), Err(Defect::BadTrailer), "{bad}");
        }
    }
}
