//! Forwarding fields of a request: X-Forwarded-*, X-Real-IP, Forwarded (RFC 7239).
//!
//! This module writes the fields and decides which received lines pass, since both follow from the policy. The caller
//! decides whether the client is trusted; an untrusted client's fields never pass. Walking back through several hops is
//! not done here.

use super::header_name::{HeaderField, classify_header};
use super::number;
use super::request::ParsedRequestHead;
use super::token::trim;
use std::net::{IpAddr, SocketAddr};

/// What happens to the forwarding fields of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardedPolicy {
    /// Received fields pass unchanged; nothing is added. For an untrusted client: the fields are replaced if any were
    /// received.
    Keep,
    /// The address of the connection's peer is appended to the received list, which becomes one line. For an untrusted client:
    /// replaced.
    Append,
    /// Received fields are dropped; only the client's own address is sent.
    Replace,
    /// Received fields are dropped; nothing is sent.
    Remove,
    /// They pass as they are, whoever sent them; nothing is added.
    Pass,
}

/// The policies for the fields of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForwardedPolicies {
    pub(crate) x_forwarded: ForwardedPolicy,
    pub(crate) forwarded: ForwardedPolicy,
}

impl ForwardedPolicies {
    /// The policies for an untrusted client: nothing that it sent passes.
    pub(crate) fn for_untrusted_peer(self, request: &ParsedRequestHead) -> ForwardedPolicies {
        let came = |own: fn(HeaderField) -> bool| {
            request.conditional.iter().any(|at| own(kind(request, at)))
        };
        let replaced = |treatment, own| match treatment {
            ForwardedPolicy::Append => ForwardedPolicy::Replace,
            ForwardedPolicy::Keep if came(own) => ForwardedPolicy::Replace,
            ForwardedPolicy::Keep => ForwardedPolicy::Remove,
            other => other,
        };
        ForwardedPolicies {
            x_forwarded: replaced(self.x_forwarded, is_x_forwarded),
            forwarded: replaced(self.forwarded, |field| field == HeaderField::Forwarded),
        }
    }
}

fn is_x_forwarded(field: HeaderField) -> bool {
    use HeaderField::{XForwardedFor, XForwardedOther, XForwardedProto, XRealIp};
    matches!(field, XForwardedFor | XForwardedOther | XForwardedProto | XRealIp)
}

fn passes(treatment: ForwardedPolicy) -> bool {
    matches!(treatment, ForwardedPolicy::Keep | ForwardedPolicy::Pass)
}

/// Whether the line of a field passes as it is.
pub(crate) fn passes_unchanged(field: HeaderField, treatments: ForwardedPolicies) -> bool {
    let ForwardedPolicies { x_forwarded, forwarded } = treatments;
    match field {
        // Append joins the lists into a line of its own.
        HeaderField::XForwardedFor => passes(x_forwarded),
        // Append keeps what an earlier proxy told of the scheme and the rest.
        HeaderField::XForwardedProto | HeaderField::XForwardedOther | HeaderField::XRealIp => {
            passes(x_forwarded) || x_forwarded == ForwardedPolicy::Append
        }
        HeaderField::Forwarded => passes(forwarded),
        _ => true,
    }
}

/// Appends X-Forwarded-For and -Proto, and X-Real-IP if it replaces a received one.
pub(crate) fn append_x_forwarded(
    request: &ParsedRequestHead,
    treatment: ForwardedPolicy,
    client: SocketAddr,
    scheme: &str,
    out: &mut Vec<u8>,
) {
    if !matches!(treatment, ForwardedPolicy::Append | ForwardedPolicy::Replace) {
        return;
    }
    out.extend_from_slice(b"X-Forwarded-For: ");
    let mut has_proto = false;
    if treatment == ForwardedPolicy::Append {
        has_proto =
            request.conditional.iter().any(|at| kind(request, at) == HeaderField::XForwardedProto);
        append_existing(request, HeaderField::XForwardedFor, out);
    }
    number::address(client.ip(), out);
    out.extend_from_slice(b"\r\n");
    if !has_proto {
        out.extend_from_slice(b"X-Forwarded-Proto: ");
        out.extend_from_slice(scheme.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    let had_real_ip =
        || request.conditional.iter().any(|at| kind(request, at) == HeaderField::XRealIp);
    if treatment == ForwardedPolicy::Replace && had_real_ip() {
        out.extend_from_slice(b"X-Real-IP: ");
        number::address(client.ip(), out);
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends Forwarded with `for` and `proto` (RFC 7239 §4).
pub(crate) fn append_forwarded(
    request: &ParsedRequestHead,
    treatment: ForwardedPolicy,
    client: SocketAddr,
    scheme: &str,
    out: &mut Vec<u8>,
) {
    if !matches!(treatment, ForwardedPolicy::Append | ForwardedPolicy::Replace) {
        return;
    }
    out.extend_from_slice(b"Forwarded: ");
    if treatment == ForwardedPolicy::Append {
        append_existing(request, HeaderField::Forwarded, out);
    }
    out.extend_from_slice(b"for=");
    // RFC 7239 §6: an IPv6 address is enclosed in brackets and quotes.
    match client.ip().to_canonical() {
        v4 @ IpAddr::V4(_) => number::address(v4, out),
        v6 @ IpAddr::V6(_) => {
            out.extend_from_slice(b"\"[");
            number::address(v6, out);
            out.extend_from_slice(b"]\"");
        }
    }
    out.extend_from_slice(b";proto=");
    out.extend_from_slice(scheme.as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn append_existing(request: &ParsedRequestHead, field: HeaderField, out: &mut Vec<u8>) {
    for at in request.conditional.iter().filter(|&at| kind(request, at) == field) {
        let value = request.headers.get(at).map_or(&[][..], |header| trim(header.value));
        if !value.is_empty() {
            out.extend_from_slice(value);
            out.extend_from_slice(b", ");
        }
    }
}

fn kind(request: &ParsedRequestHead, at: usize) -> HeaderField {
    request
        .headers
        .get(at)
        .map_or(HeaderField::Other, |header| classify_header(header.name.as_bytes()))
}
