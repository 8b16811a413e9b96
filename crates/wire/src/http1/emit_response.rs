//! An answer head written again for the client: HTTP/1.1, a framing that the client can read, no hop-by-hop fields.
//!
//! It does not write the body, and it does not keep 1xx from HTTP/1.0 clients: the exchange does.

use super::emit_request::copy_fields;
use super::head::HttpVersion;
use super::header_name::{HeaderField, classify_header};
use super::number;
use super::response::{ParsedResponseHead, ResponseBody};
use httparse::Header;

/// What happens to a connection after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPersistence {
    Close,
    KeepAlive,
}

/// What changes on the way to the client.
#[derive(Clone, Copy, Debug)]
pub struct ResponseEdits<'a> {
    /// What the client speaks. HTTP/1.0 cannot read chunks: the body is plain then, and ends with the connection.
    pub client_version: HttpVersion,
    /// What happens to the client's connection. `Close` holds whatever is set when [`ParsedResponseHead::ends_with_close`].
    pub persist: ConnectionPersistence,
    /// Our name in Via; `None` adds no Via.
    pub via: Option<&'a str>,
    /// Whether an Upgrade field is passed on (101, and 426 with the protocols that are required).
    pub keep_upgrade: bool,
    /// Names of fields that are left out, lower case.
    pub removed_headers: &'a [String],
    /// A cookie that is not set (RFC 6265 §4.1).
    pub removed_cookie: Option<&'a str>,
    /// Lines of ours, each with its end.
    pub lines: &'a [u8],
}

/// Appends the head of `response` for the client to `out`.
///
/// Dropped: Connection and what it names, Keep-Alive, Proxy-Connection, TE, Upgrade unless kept, Trailer unless the
/// client gets chunks, framing fields of 1xx and 204, and names that are ours (`x-steelyard-`). Content-Length or
/// Transfer-Encoding is written anew.
pub fn emit_response(response: &ParsedResponseHead, edits: &ResponseEdits, out: &mut Vec<u8>) {
    out.reserve(response.head.len() + 160);
    out.extend_from_slice(b"HTTP/1.1 ");
    // The three digits; the blank after them may be missing in what came (RFC 9112 §4).
    out.extend_from_slice(response.head.get(9..12).unwrap_or_default());
    out.push(b' ');
    out.extend_from_slice(response.reason);
    out.extend_from_slice(b"\r\n");
    let chunked =
        response.body == ResponseBody::Chunked && edits.client_version == HttpVersion::Http11;
    let mut skipped = response.dropped;
    for at in response.conditional.iter() {
        // Trailer, which stays before chunks, or a name of ours, which no server may use.
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

/// What a Set-Cookie field sets a cookie of this name to: its value, and the attributes from their `;` on.
pub fn set_cookie<'h>(header: &Header<'h>, name: &str) -> Option<(&'h [u8], &'h [u8])> {
    if !header.name.eq_ignore_ascii_case("set-cookie") {
        return None;
    }
    let end = header.value.iter().position(|b| *b == b';').unwrap_or(header.value.len());
    let (pair, attributes) = header.value.split_at(end);
    let at = pair.iter().position(|b| *b == b'=')?;
    let found = pair[..at].trim_ascii() == name.as_bytes();
    found.then(|| (pair[at + 1..].trim_ascii(), attributes))
}

fn length(response: &ParsedResponseHead, out: &mut Vec<u8>) {
    let Some(length) = response.content_length else { return };
    // RFC 9110 §8.6: never in 1xx and 204.
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
        // An interim answer tells nothing of the connection.
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
