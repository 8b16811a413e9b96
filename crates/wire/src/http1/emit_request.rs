//! A request head written again for a server: HTTP/1.1, origin-form, one framing, no hop-by-hop fields.
//!
//! Runs of unchanged lines are copied in one piece. It does not choose the server and does not write the body.

use super::field_set::FieldSet;
use super::forwarded::{self, ForwardedPolicies, passes_unchanged};
use super::head_summary::field_offset;
use super::header_name::{HeaderField, classify_header};
use super::number;
use super::request::{BodyKind, ParsedRequestHead, is_max_forwards};
use super::reserved::{has_prefix, is_client_certificate};
use super::trace_context::{TRACEPARENT, TRACESTATE, TraceContext};
use httparse::Header;
use std::net::SocketAddr;

pub use super::forwarded::ForwardedPolicy;

/// What changes on the way to a server.
#[derive(Clone, Copy, Debug)]
pub struct RequestEdits<'a> {
    /// Who sent the request.
    pub client: SocketAddr,
    /// Our address that the client reached; the Host of an HTTP/1.0 request that has none.
    pub local: SocketAddr,
    /// `http` or `https`, as the client came.
    pub scheme: &'a str,
    /// Whether what the sender says of earlier hops is believed; else none of it passes.
    pub trusted: bool,
    /// X-Forwarded-For, -Proto, every other `X-Forwarded-` field, and X-Real-IP.
    pub x_forwarded: ForwardedPolicy,
    pub forwarded: ForwardedPolicy,
    /// Our name in Via; `None` adds no Via.
    pub via: Option<&'a str>,
    /// Whether an upgrade that the client asks for is passed on.
    pub keep_upgrade: bool,
    /// What the client has proven of itself; `None`: no server is told of such a thing.
    pub identity: Option<IdentityHeaders<'a>>,
    /// Our place in a trace; `None`: what the client says of one passes as it is.
    pub tracing: Option<TracePropagation>,
}

/// What a server is told of the trace that a request is part of.
#[derive(Clone, Copy, Debug)]
pub struct TracePropagation {
    /// The trace, and our span in it.
    pub context: TraceContext,
    /// The trace is the client's: its `tracestate` passes.
    pub is_continued: bool,
}

/// What a client has proven of itself.
#[derive(Clone, Copy, Debug)]
pub struct IdentityHeaders<'a> {
    /// Fields whose names begin so are ours alone: what came under them is dropped. Lower case. So are those of RFC 9440.
    pub prefixes: &'a [String],
    /// Our lines, each with its end; none where the client was not asked.
    pub lines: &'a [u8],
}

/// Appends the head of `request` for a server to `out`.
///
/// Dropped: Connection and what it names, Keep-Alive, Proxy-Connection, HTTP2-Settings, TE but `trailers`, Upgrade
/// unless kept, Trailer without a chunked body, Expect where it has no effect. Content-Length or Transfer-Encoding is
/// written anew, Host too for absolute-form, and Max-Forwards of TRACE and OPTIONS with one hop less.
pub fn emit_request(request: &ParsedRequestHead, edits: &RequestEdits, out: &mut Vec<u8>) {
    out.reserve(request.head.len() + 256);
    start_line(request, out);
    if request.rewrites_host {
        host(request, edits, out);
    }
    let mut treatments =
        ForwardedPolicies { x_forwarded: edits.x_forwarded, forwarded: edits.forwarded };
    if !edits.trusted {
        treatments = treatments.for_untrusted_peer(request);
    }
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
    if let Some(tracing) = edits.tracing {
        for (at, header) in request.headers.iter().enumerate() {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is(TRACEPARENT) || !tracing.is_continued && is(TRACESTATE) {
                skipped.insert(at);
            }
        }
    }
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
    forwarded::append_x_forwarded(request, treatments.x_forwarded, edits.client, edits.scheme, out);
    forwarded::append_forwarded(request, treatments.forwarded, edits.client, edits.scheme, out);
    if let Some(name) = edits.via {
        for part in ["Via: ", request.received, " ", name, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    if let Some(identity) = edits.identity {
        out.extend_from_slice(identity.lines);
    }
    if let Some(tracing) = edits.tracing {
        for part in [TRACEPARENT, ": ", &tracing.context.to_header_value(), "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends every field line that is not `skipped`, unchanged, in runs.
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

/// RFC 9110 §7.6.1: what holds for one hop is named in Connection.
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
