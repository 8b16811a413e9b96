//! Writes a response head for the client: HTTP/1.1, a framing that the client understands, no hop-by-hop fields.
//!
//! This module does not write the body. Withholding 1xx from HTTP/1.0 clients is the exchange's task.

use super::emit_request::copy_fields;
use super::head::HttpVersion;
use super::header_name::{HeaderField, classify_header};
use super::number;
use super::response::{ParsedResponseHead, ResponseBody};
use httparse::Header;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPersistence {
    Close,
    KeepAlive,
}

/// The changes to a response head on its way to the client.
#[derive(Clone, Copy, Debug)]
pub struct ResponseEdits<'a> {
    /// The client's version. HTTP/1.0 has no chunked coding: the body is sent unframed and ends when the connection
    /// closes.
    pub client_version: HttpVersion,
    /// What happens to the client's connection. `Close` applies regardless of this value if
    /// [`ParsedResponseHead::ends_with_close`].
    pub persist: ConnectionPersistence,
    /// The balancer's name in Via; `None` adds no Via.
    pub via: Option<&'a str>,
    /// Whether an Upgrade field is passed on: in a 101, and in a 426 with the required protocols.
    pub keep_upgrade: bool,
    /// Names of fields to drop, lower case.
    pub removed_headers: &'a [String],
    /// The name of a cookie whose Set-Cookie is dropped (RFC 6265 §4.1).
    pub removed_cookie: Option<&'a str>,
    /// Field lines to add, each with its line end.
    pub lines: &'a [u8],
}

/// Appends the head of `response` to `out`, in the form for the client.
///
/// Dropped: Connection and the fields it names, Keep-Alive, Proxy-Connection, TE, Upgrade unless `keep_upgrade`,
/// Trailer unless the client gets chunks, framing fields of 1xx and 204, and the reserved `x-steelyard-` names.
/// Content-Length or Transfer-Encoding is rewritten.
pub fn emit_response(response: &ParsedResponseHead, edits: &ResponseEdits, out: &mut Vec<u8>) {
    out.reserve(response.head.len() + 160);
    out.extend_from_slice(b"HTTP/1.1 ");
    // The three digits. The space after them may be missing in the server's status line (RFC 9112 §4).
    out.extend_from_slice(response.head.get(9..12).unwrap_or_default());
    out.push(b' ');
    out.extend_from_slice(response.reason);
    out.extend_from_slice(b"\r\n");
    let chunked =
        response.body == ResponseBody::Chunked && edits.client_version == HttpVersion::Http11;
    let mut skipped = response.dropped;
    for at in response.conditional.iter() {
        // Either Trailer, which is sent before a chunked body, or a reserved name, which no server may send.
        let name = response.headers.get(at).map_or(&b""[..], |header| header.name.as_bytes());
        if !chunked || classify_header(name) != HeaderField::Trailer {
            skipped.insert(at);
        }
    }
    if !edits.removed_headers.is_empty() || edits.removed_cookie.is_some() {
        for (at, header) in response.headers.iter().enumerate() {
            if is_removed(header, edits) {
                skipped.insert(at);
            }
        }
    }
    copy_fields(response.head, response.headers, &skipped, out);
    if chunked {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    length(response, out);
    connection(response, edits, out);
    if let Some(name) = edits.via {
        for part in ["Via: ", response.version.as_str(), " ", name, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    out.extend_from_slice(edits.lines);
    out.extend_from_slice(b"\r\n");
}

fn is_removed(header: &Header, edits: &ResponseEdits) -> bool {
    edits.removed_headers.iter().any(|name| header.name.eq_ignore_ascii_case(name))
        || edits.removed_cookie.is_some_and(|name| set_cookie(header, name).is_some())
}

/// The parts of a Set-Cookie field after the cookie's name.
#[derive(Clone, Copy, Debug)]
pub struct SetCookieParts<'h> {
    pub value: &'h [u8],
    /// From the `;` on.
    pub attributes: &'h [u8],
}

/// What this field sets for the cookie `name`; `None`: it does not set that cookie.
pub fn set_cookie<'h>(header: &Header<'h>, name: &str) -> Option<SetCookieParts<'h>> {
    if !header.name.eq_ignore_ascii_case("set-cookie") {
        return None;
    }
    let end = header.value.iter().position(|b| *b == b';').unwrap_or(header.value.len());
    let (pair, attributes) = header.value.split_at(end);
    let at = pair.iter().position(|b| *b == b'=')?;
    let found = pair[..at].trim_ascii() == name.as_bytes();
    found.then(|| SetCookieParts { value: pair[at + 1..].trim_ascii(), attributes })
}

fn length(response: &ParsedResponseHead, out: &mut Vec<u8>) {
    let Some(length) = response.content_length else { return };
    // RFC 9110 §8.6: no Content-Length in 1xx and 204.
    if response.status >= 200 && response.status != 204 {
        out.extend_from_slice(b"Content-Length: ");
        number::decimal(length, out);
        out.extend_from_slice(b"\r\n");
    }
}

fn connection(response: &ParsedResponseHead, edits: &ResponseEdits, out: &mut Vec<u8>) {
    let upgrade = response.upgrade.filter(|_| edits.keep_upgrade);
    if let Some(protocols) = upgrade {
        out.extend_from_slice(b"Upgrade: ");
        out.extend_from_slice(protocols.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    let closes = edits.persist == ConnectionPersistence::Close
        || response.ends_with_close(edits.client_version);
    let persists = match (closes, edits.client_version) {
        // An interim response carries no connection option.
        _ if response.is_interim() => "",
        (true, _) => "close",
        (false, HttpVersion::Http10) => "keep-alive",
        (false, HttpVersion::Http11) => "",
    };
    let options = [persists, if upgrade.is_some() { "Upgrade" } else { "" }];
    let mut named = options.iter().filter(|option| !option.is_empty());
    let Some(first) = named.next() else { return };
    out.extend_from_slice(b"Connection: ");
    out.extend_from_slice(first.as_bytes());
    for option in named {
        out.extend_from_slice(b", ");
        out.extend_from_slice(option.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}
