//! Trailer lines (RFC 9110 §6.5): which are well formed, and which may pass.
//!
//! A trailer is merged by some receivers into the head, so whatever frames, routes, authenticates or describes the
//! message is dropped, and whatever is reserved to the balancer, its own names (`x-steelyard-`) included. Everything else
//! passes.

use super::defect::Defect;
use super::header_name::{HeaderField, classify_header};
use super::reserved::{ReservedHeaders, is_client_certificate, is_same_header};
use super::token::{is_token, is_value_byte};

/// Whether a trailer line, without its line end, may pass.
///
/// # Errors
///
/// [`Defect::BadTrailer`] when it is no field line.
pub(crate) fn may_pass(line: &[u8], reserved: Option<&ReservedHeaders>) -> Result<bool, Defect> {
    let colon = memchr::memchr(b':', line).ok_or(Defect::BadTrailer)?;
    let name = &line[..colon];
    let value = &line[colon + 1..];
    if !is_token(name) || !value.iter().all(|&byte| is_value_byte(byte)) {
        return Err(Defect::BadTrailer);
    }
    let listed = FORBIDDEN.iter().any(|wanted| is_same_header(name, wanted.as_bytes()));
    let ours =
        is_client_certificate(name) || reserved.is_some_and(|reserved| reserved.contains(name));
    // A name that the codec treats is looked up in its usual spelling.
    let mut usual = [0; LONGEST];
    let usual = usual.get_mut(..name.len()).map_or(name, |room| {
        let dashed = |byte: &u8| if byte.is_ascii_alphanumeric() { *byte } else { b'-' };
        room.iter_mut().zip(name).for_each(|(to, byte)| *to = dashed(byte));
        &*room
    });
    Ok(!listed && !ours && classify_header(usual) == HeaderField::Other)
}

/// Longer than any name that the codec treats, `x-forwarded-` with its ending included.
const LONGEST: usize = 128;

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
    "traceparent",
    "tracestate",
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
        let passes = |line: &[u8]| may_pass(line, None);
        assert_eq!(passes(b"X-Sum: 1"), Ok(true));
        assert_eq!(passes(b"grpc-status:0"), Ok(true));
        for dropped in [
            "Content-Length: 1",
            "host: a",
            "AUTHORIZATION: x",
            "Transfer_Encoding: x",
            "X_Forwarded_For: 192.0.2.1",
            "X_Real_IP: 192.0.2.1",
            "x-forwarded_proto: https",
            "Client-Cert: :AA==:",
            "client_cert_chain: :AA==:",
            "X-Steelyard-Cause: no-server",
            "x_steelyard_id: 1",
        ] {
            assert_eq!(passes(dropped.as_bytes()), Ok(false), "{dropped}");
        }
        for bad in ["", "x", ":x", "a b: x", " a: x", "a: \0"] {
            assert_eq!(passes(bad.as_bytes()), Err(Defect::BadTrailer), "{bad}");
        }
    }

    #[test]
    fn reserved_fields_do_not_pass_under_any_spelling() {
        let reserved = ReservedHeaders {
            prefixes: vec!["x-client-cert".to_owned()].into(),
            names: vec!["x-remote-user".to_owned()].into(),
            unusual: false,
        };
        for line in ["x-client-cert-verified: yes", "X_Client_Cert_Subject: a", "X_Remote-User: a"]
        {
            assert_eq!(may_pass(line.as_bytes(), None), Ok(true), "{line}");
            assert_eq!(may_pass(line.as_bytes(), Some(&reserved)), Ok(false), "{line}");
        }
        assert_eq!(may_pass(b"X-Sum: 1", Some(&reserved)), Ok(true));
    }
}
