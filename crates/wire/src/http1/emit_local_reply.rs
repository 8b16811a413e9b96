//! Writes a complete small response of the balancer: status, cause and id, so that a client's report can be found in
//! the log.
//!
//! The caller supplies the names of causes. The operator's custom error pages are written elsewhere.

use super::emit_response::ConnectionPersistence;
use super::number;

/// Appends a complete response to `out`: plain text, not cacheable, with `x-steelyard-cause` and `x-steelyard-id`.
///
/// `lines` are fields beside, each line with its end. Of `cause` and `id` only visible ASCII is written. With `head_only` (an answer to HEAD) the body is left out and
/// its length is told.
pub fn emit_local_reply(
    status: u16,
    cause: &str,
    id: &str,
    lines: &[u8],
    persist: ConnectionPersistence,
    head_only: bool,
    out: &mut Vec<u8>,
) {
    let phrase = phrase(status);
    // "503 Service Unavailable: cause (id)\n"
    let length = 3 + 1 + phrase.len() + 2 + visible_len(cause) + 2 + visible_len(id) + 2;
    out.reserve(256 + 2 * length);
    out.extend_from_slice(b"HTTP/1.1 ");
    status_and_phrase(status, phrase, out);
    out.extend_from_slice(
        b"\r\nContent-Type: text/plain\r\nCache-Control: no-store\r\nContent-Length: ",
    );
    number::decimal(length as u64, out);
    out.extend_from_slice(b"\r\nx-steelyard-cause: ");
    visible(cause, out);
    out.extend_from_slice(b"\r\nx-steelyard-id: ");
    visible(id, out);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(lines);
    out.extend_from_slice(match persist {
        ConnectionPersistence::Close => b"Connection: close\r\n\r\n",
        ConnectionPersistence::KeepAlive => b"Connection: keep-alive\r\n\r\n",
    });
    if !head_only {
        status_and_phrase(status, phrase, out);
        out.extend_from_slice(b": ");
        visible(cause, out);
        out.extend_from_slice(b" (");
        visible(id, out);
        out.extend_from_slice(b")\n");
    }
}

/// A response that the configuration defines.
#[derive(Clone, Copy, Debug)]
pub struct DirectResponse<'a> {
    pub status: u16,
    /// Extra field lines, each with its line end.
    pub lines: &'a [u8],
    /// The body; omitted for a status that has no body (RFC 9110 §6.4.1).
    pub body: &'a [u8],
}

/// Appends a configured response to `out`. With `head_only` the body is omitted, but its length is sent.
pub fn emit_direct_response(
    made: &DirectResponse,
    persist: ConnectionPersistence,
    head_only: bool,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"HTTP/1.1 ");
    status_and_phrase(made.status, phrase(made.status), out);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(made.lines);
    let has_body = made.status != 204 && made.status != 304;
    if has_body {
        out.extend_from_slice(b"Content-Length: ");
        number::decimal(made.body.len() as u64, out);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(match persist {
        ConnectionPersistence::Close => b"Connection: close\r\n\r\n",
        ConnectionPersistence::KeepAlive => b"Connection: keep-alive\r\n\r\n",
    });
    if has_body && !head_only {
        out.extend_from_slice(made.body);
    }
}

fn status_and_phrase(status: u16, phrase: &str, out: &mut Vec<u8>) {
    // Clamped to three digits, so that every client can parse the status line.
    number::decimal(status.clamp(100, 999).into(), out);
    out.push(b' ');
    out.extend_from_slice(phrase.as_bytes());
}

fn is_visible(byte: &u8) -> bool {
    matches!(byte, b'!'..=b'~')
}

fn visible(text: &str, out: &mut Vec<u8>) {
    out.extend(text.bytes().filter(is_visible));
}

fn visible_len(text: &str) -> usize {
    text.bytes().filter(is_visible).count()
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        410 => "Gone",
        413 => "Content Too Large",
        414 => "URI Too Long",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}
