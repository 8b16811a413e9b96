//! Writes a request head for a server: HTTP/1.1, origin-form, one framing, no hop-by-hop fields.
//!
//! Runs of unchanged lines are copied in one piece. This module does not choose the server and does not write the body.

use super::field_set::FieldSet;
use super::forwarded::{self, ForwardedPolicies, passes_unchanged};
use super::head_summary::field_offset;
use super::header_name::{HeaderField, classify_header};
use super::number;
use super::request::{BodyKind, ParsedRequestHead, is_max_forwards};
use super::reserved::{has_prefix, is_client_certificate, is_same_header};
use super::trace_context::{TRACEPARENT, TRACESTATE, TraceContext};
use httparse::Header;
use std::net::SocketAddr;

pub use super::forwarded::ForwardedPolicy;

/// The changes to a request head on its way to the server.
#[derive(Clone, Copy, Debug)]
pub struct RequestEdits<'a> {
    /// The client, which replaces what is received.
    pub client: SocketAddr,
    /// The peer of the connection, which is appended to what is received.
    pub hop: SocketAddr,
    /// The balancer's address that the client connected to. It becomes the Host of an HTTP/1.0 request without Host.
    pub local: SocketAddr,
    /// `http` or `https`: the scheme of the client's connection.
    pub scheme: &'a str,
    /// Whether the client's forwarding fields are trusted. An untrusted client's forwarding fields are never passed on.
    pub trusted: bool,
    /// Applies to X-Forwarded-For, -Proto, every other `X-Forwarded-` field, and X-Real-IP.
    pub x_forwarded: ForwardedPolicy,
    pub forwarded: ForwardedPolicy,
    /// The balancer's name in Via; `None` adds no Via.
    pub via: Option<&'a str>,
    /// Whether the client's upgrade request is passed on.
    pub keep_upgrade: bool,
    /// The client certificate fields; `None`: servers get none, and the client's own are passed on.
    pub identity: Option<IdentityHeaders<'a>>,
    /// The field with the request's id, in the place of what the client sent under its name; `None`: there is none.
    pub request_id: Option<RequestIdHeader<'a>>,
    /// The balancer's place in the trace; `None`: the client's trace fields pass unchanged.
    pub tracing: Option<TracePropagation>,
}

impl RequestEdits<'_> {
    /// What becomes of forwarding fields: those of an untrusted client never pass.
    fn forwarding(&self, request: &ParsedRequestHead) -> ForwardedPolicies {
        let wanted = ForwardedPolicies { x_forwarded: self.x_forwarded, forwarded: self.forwarded };
        match self.trusted {
            true => wanted,
            false => wanted.for_untrusted_peer(request),
        }
    }
}

/// The field with the id of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestIdHeader<'a> {
    pub name: &'a str,
    pub value: &'a str,
}

/// The trace context that a server receives.
#[derive(Clone, Copy, Debug)]
pub struct TracePropagation {
    /// The trace, and the balancer's span in it.
    pub context: TraceContext,
    /// The client started the trace, so its `tracestate` passes.
    pub is_continued: bool,
}

/// The fields that carry the client's certificate to the server.
#[derive(Clone, Copy, Debug)]
pub struct IdentityHeaders<'a> {
    /// Reserved name prefixes, lower case: a client's fields with these prefixes are dropped, and so are those of RFC
    /// 9440.
    pub prefixes: &'a [String],
    /// The field lines to add, each with its line end. Empty where no certificate was requested.
    pub lines: &'a [u8],
}

/// Appends the head of `request` to `out`, in the form for a server.
///
/// Dropped: Connection and the fields it names, Keep-Alive, Proxy-Connection, HTTP2-Settings, TE except `trailers`,
/// Upgrade unless `keep_upgrade`, Trailer without a chunked body, and Expect where it has no effect. Rewritten:
/// Content-Length or Transfer-Encoding, Host for absolute-form, and Max-Forwards of TRACE and OPTIONS, minus one.
pub fn emit_request(request: &ParsedRequestHead, edits: &RequestEdits, out: &mut Vec<u8>) {
    out.reserve(request.head.len() + 256);
    start_line(request, out);
    if request.rewrites_host {
        host(request, edits, out);
    }
    let treatments = edits.forwarding(request);
    let skipped = skipped_fields(request, edits, treatments);
    copy_fields(request.head, request.headers, &skipped, out);
    framing(request.body, out);
    if let Some(hops) = request.max_forwards {
        out.extend_from_slice(b"Max-Forwards: ");
        number::decimal(hops.saturating_sub(1).into(), out);
        out.extend_from_slice(b"\r\n");
    }
    if request.expect_continue {
        out.extend_from_slice(b"Expect: 100-continue\r\n");
    }
    connection(request, edits, out);
    let written = |treatment| match treatment {
        ForwardedPolicy::Append => edits.hop,
        _ => edits.client,
    };
    let ForwardedPolicies { x_forwarded, forwarded } = treatments;
    forwarded::append_x_forwarded(request, x_forwarded, written(x_forwarded), edits.scheme, out);
    forwarded::append_forwarded(request, forwarded, written(forwarded), edits.scheme, out);
    if let Some(name) = edits.via {
        for part in ["Via: ", request.received, " ", name, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    if let Some(identity) = edits.identity {
        out.extend_from_slice(identity.lines);
    }
    if let Some(field) = edits.request_id {
        for part in [field.name, ": ", field.value, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    if let Some(tracing) = edits.tracing {
        for part in [TRACEPARENT, ": ", &tracing.context.to_header_value(), "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// The lines that do not pass as they came.
fn skipped_fields(
    request: &ParsedRequestHead,
    edits: &RequestEdits,
    treatments: ForwardedPolicies,
) -> FieldSet {
    let mut skipped = request.dropped;
    for at in request.conditional.iter() {
        if !is_passed_on(request, treatments, at) {
            skipped.insert(at);
        }
    }
    if request.max_forwards.is_some() {
        let at = request.headers.iter().position(is_max_forwards);
        at.into_iter().for_each(|at| skipped.insert(at));
    }
    if let Some(identity) = edits.identity {
        for (at, header) in request.headers.iter().enumerate() {
            let name = header.name.as_bytes();
            let ours = |prefix: &String| has_prefix(name, prefix.as_bytes());
            if is_client_certificate(name) || identity.prefixes.iter().any(ours) {
                skipped.insert(at);
            }
        }
    }
    if let Some(field) = edits.request_id {
        for (at, header) in request.headers.iter().enumerate() {
            if is_same_header(header.name.as_bytes(), field.name.as_bytes()) {
                skipped.insert(at);
            }
        }
    }
    if let Some(tracing) = edits.tracing {
        for (at, header) in request.headers.iter().enumerate() {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is(TRACEPARENT) || !tracing.is_continued && is(TRACESTATE) {
                skipped.insert(at);
            }
        }
    }
    skipped
}

/// Appends every field line outside `skipped` unchanged, in runs.
pub(crate) fn copy_fields(head: &[u8], headers: &[Header], skipped: &FieldSet, out: &mut Vec<u8>) {
    let end = head.len() - 2;
    let line_at = |at: usize| headers.get(at).map_or(end, |header| field_offset(head, header.name));
    let mut from = line_at(0);
    for at in skipped.iter() {
        out.extend_from_slice(head.get(from..line_at(at)).unwrap_or_default());
        from = line_at(at + 1);
    }
    out.extend_from_slice(head.get(from..end).unwrap_or_default());
}

fn start_line(request: &ParsedRequestHead, out: &mut Vec<u8>) {
    out.extend_from_slice(request.method.as_str().as_bytes());
    out.push(b' ');
    if !request.rest.starts_with(['/', '*']) {
        out.push(b'/');
    }
    out.extend_from_slice(request.rest.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
}

fn host(request: &ParsedRequestHead, edits: &RequestEdits, out: &mut Vec<u8>) {
    out.extend_from_slice(b"Host: ");
    if let Some(host) = request.host {
        out.extend_from_slice(host.as_bytes());
    } else {
        let brackets = edits.local.ip().to_canonical().is_ipv6();
        out.extend_from_slice(if brackets { b"[" } else { b"" });
        number::address(edits.local.ip(), out);
        out.extend_from_slice(if brackets { b"]:" } else { b":" });
        number::decimal(edits.local.port().into(), out);
    }
    out.extend_from_slice(b"\r\n");
}

fn is_passed_on(request: &ParsedRequestHead, treatments: ForwardedPolicies, at: usize) -> bool {
    let Some(header) = request.headers.get(at) else { return false };
    match classify_header(header.name.as_bytes()) {
        HeaderField::Trailer => request.body == BodyKind::Chunked,
        field => passes_unchanged(field, treatments),
    }
}

fn framing(body: BodyKind, out: &mut Vec<u8>) {
    match body {
        BodyKind::None => {}
        BodyKind::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        BodyKind::Length(length) => {
            out.extend_from_slice(b"Content-Length: ");
            number::decimal(length, out);
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// RFC 9110 §7.6.1: hop-by-hop fields are named in Connection.
fn connection(request: &ParsedRequestHead, edits: &RequestEdits, out: &mut Vec<u8>) {
    let upgrade = request.upgrade.filter(|_| edits.keep_upgrade);
    if let Some(protocols) = upgrade {
        out.extend_from_slice(b"Upgrade: ");
        out.extend_from_slice(protocols.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    if request.te_trailers {
        out.extend_from_slice(b"TE: trailers\r\n");
    }
    out.extend_from_slice(match (upgrade.is_some(), request.te_trailers) {
        (false, false) => b"",
        (true, false) => b"Connection: Upgrade\r\n",
        (false, true) => b"Connection: TE\r\n",
        (true, true) => b"Connection: Upgrade, TE\r\n",
    });
}
