//! Forwarding fields of a request: X-Forwarded-For, X-Forwarded-Proto, Forwarded (RFC 7239).
//!
//! It writes; which existing lines stay is answered here too, since the two belong together. It does not judge what a
//! client wrote into them: `Append` trusts it, `Replace` does not.

use super::name::{Field, classify};
use super::number;
use super::request::Request;
use super::token::trim;
use std::net::{IpAddr, SocketAddr};

/// What happens to forwarding fields of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// They pass as they are; nothing is added.
    Keep,
    /// The client is added at the end of the list that came, which becomes one line.
    Append,
    /// What came is dropped; the client alone is told.
    Replace,
    /// What came is dropped; nothing is told.
    Remove,
}

/// Whether the line of a field passes as it is.
pub(crate) fn passes(field: Field, x_forwarded: Treatment, forwarded: Treatment) -> bool {
    match field {
        // Append joins the lists into a line of its own.
        Field::XForwardedFor => x_forwarded == Treatment::Keep,
        // Append keeps what an earlier proxy told of the scheme.
        Field::XForwardedProto | Field::XForwardedOther => {
            matches!(x_forwarded, Treatment::Keep | Treatment::Append)
        }
        Field::Forwarded => forwarded == Treatment::Keep,
        _ => true,
    }
}

/// Appends X-Forwarded-For and -Proto.
pub(crate) fn x_forwarded(
    request: &Request,
    treatment: Treatment,
    client: SocketAddr,
    scheme: &str,
    out: &mut Vec<u8>,
) {
    if !matches!(treatment, Treatment::Append | Treatment::Replace) {
        return;
    }
    out.extend_from_slice(b"X-Forwarded-For: ");
    let mut has_proto = false;
    if treatment == Treatment::Append {
        has_proto =
            request.conditional.iter().any(|at| kind(request, at) == Field::XForwardedProto);
        join(request, Field::XForwardedFor, out);
    }
    number::address(client.ip(), out);
    out.extend_from_slice(b"\r\n");
    if !has_proto {
        out.extend_from_slice(b"X-Forwarded-Proto: ");
        out.extend_from_slice(scheme.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

/// Appends Forwarded with `for` and `proto` (RFC 7239 §4).
pub(crate) fn forwarded(
    request: &Request,
    treatment: Treatment,
    client: SocketAddr,
    scheme: &str,
    out: &mut Vec<u8>,
) {
    if !matches!(treatment, Treatment::Append | Treatment::Replace) {
        return;
    }
    out.extend_from_slice(b"Forwarded: ");
    if treatment == Treatment::Append {
        join(request, Field::Forwarded, out);
    }
    out.extend_from_slice(b"for=");
    // RFC 7239 §6: an IPv6 address stands in brackets and quotes.
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

fn join(request: &Request, field: Field, out: &mut Vec<u8>) {
    for at in request.conditional.iter().filter(|&at| kind(request, at) == field) {
        let value = request.headers.get(at).map_or(&[][..], |header| trim(header.value));
        if !value.is_empty() {
            out.extend_from_slice(value);
            out.extend_from_slice(b", ");
        }
    }
}

fn kind(request: &Request, at: usize) -> Field {
    request.headers.get(at).map_or(Field::Other, |header| classify(header.name.as_bytes()))
}
