//! Forwarding fields of a request: X-Forwarded-*, X-Real-IP, Forwarded (RFC 7239).
//!
//! It writes; which existing lines stay is answered here too, since the two belong together. Whether the sender is
//! trusted the caller knows; what an untrusted one wrote never passes. It does not walk back through several hops.

use super::name::{Field, classify};
use super::number;
use super::request::Request;
use super::token::trim;
use std::net::{IpAddr, SocketAddr};

/// What happens to forwarding fields of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// They pass as they are; nothing is added. Of a client that is not trusted: replaced where any came.
    Keep,
    /// The client is added at the end of the list that came, which becomes one line. Of a client that is not trusted:
    /// replaced.
    Append,
    /// What came is dropped; the client alone is told.
    Replace,
    /// What came is dropped; nothing is told.
    Remove,
}

/// What happens to the fields of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Treatments {
    /// X-Forwarded-* and X-Real-IP.
    pub(crate) x_forwarded: Treatment,
    /// Forwarded.
    pub(crate) forwarded: Treatment,
}

impl Treatments {
    /// The same for a sender that is not trusted: nothing that it wrote is kept.
    pub(crate) fn of_untrusted(self, request: &Request) -> Treatments {
        let came =
            |own: fn(Field) -> bool| request.conditional.iter().any(|at| own(kind(request, at)));
        let replaced = |treatment, own| match treatment {
            Treatment::Append => Treatment::Replace,
            Treatment::Keep if came(own) => Treatment::Replace,
            Treatment::Keep => Treatment::Remove,
            other => other,
        };
        Treatments {
            x_forwarded: replaced(self.x_forwarded, is_x_forwarded),
            forwarded: replaced(self.forwarded, |field| field == Field::Forwarded),
        }
    }
}

fn is_x_forwarded(field: Field) -> bool {
    use Field::{XForwardedFor, XForwardedOther, XForwardedProto, XRealIp};
    matches!(field, XForwardedFor | XForwardedOther | XForwardedProto | XRealIp)
}

/// Whether the line of a field passes as it is.
pub(crate) fn passes(field: Field, treatments: Treatments) -> bool {
    let Treatments { x_forwarded, forwarded } = treatments;
    match field {
        // Append joins the lists into a line of its own.
        Field::XForwardedFor => x_forwarded == Treatment::Keep,
        // Append keeps what an earlier proxy told of the scheme and the rest.
        Field::XForwardedProto | Field::XForwardedOther | Field::XRealIp => {
            matches!(x_forwarded, Treatment::Keep | Treatment::Append)
        }
        Field::Forwarded => forwarded == Treatment::Keep,
        _ => true,
    }
}

/// Appends X-Forwarded-For and -Proto, and X-Real-IP where one is replaced.
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
    let had_real_ip = || request.conditional.iter().any(|at| kind(request, at) == Field::XRealIp);
    if treatment == Treatment::Replace && had_real_ip() {
        out.extend_from_slice(b"X-Real-IP: ");
        number::address(client.ip(), out);
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
