//! Converts the head of a request, parsed from HTTP/1.1, to the fields of HTTP/2.

use wire::field_section::FieldSection;
use wire::http1::{BodyKind, ParsedRequestHead};

/// Whether HTTP/2 can carry the target (RFC 9113 §8.3.1).
pub fn is_representable(request: &ParsedRequestHead<'_, '_>) -> bool {
    let asterisk = request.target == "*" && request.method.as_str() == "OPTIONS";
    request.host.is_some() && (request.target.starts_with('/') || asterisk)
}

/// Whether the field is the key of an upgrade, which extended CONNECT does not have (RFC 8441 §5).
pub fn is_key(name: &str) -> bool {
    name.eq_ignore_ascii_case("sec-websocket-key")
}

/// Appends the fields of a request. `websocket`: the upgrade becomes an extended CONNECT.
pub fn request_fields(
    request: &ParsedRequestHead<'_, '_>,
    websocket: bool,
    secure: bool,
    fields: &mut FieldSection,
) {
    let method = if websocket { "CONNECT" } else { request.method.as_str() };
    fields.push(b":method", method.as_bytes());
    fields.push(b":scheme", if secure { b"https" } else { b"http" });
    fields.push(b":authority", request.host.unwrap_or_default().as_bytes());
    fields.push(b":path", request.target.as_bytes());
    if websocket {
        fields.push(b":protocol", b"websocket");
    }
    for field in request.forwarded_headers() {
        // `:authority` replaces Host (RFC 9113 §8.3.1); some servers reject a request with both.
        if field.name.eq_ignore_ascii_case("host") || (websocket && is_key(field.name)) {
            continue;
        }
        fields.push_lowercase(field.name.as_bytes(), field.value);
    }
    if request.reads_trailers() {
        fields.push(b"te", b"trailers");
    }
    if request.expect_continue {
        fields.push(b"expect", b"100-continue");
    }
    if let BodyKind::Length(length) = request.body {
        fields.push(b"content-length", length.to_string().as_bytes());
    }
}
