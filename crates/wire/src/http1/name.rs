//! Which field a name is, for the few names that the codec treats.
//!
//! Length and first letter are looked at before any letters are compared, so that most names cost one jump. All other
//! fields are [`Field::Other`] and pass as they are.

/// A field that the codec treats, or `Other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Other,
    Connection,
    ContentLength,
    Expect,
    Forwarded,
    Host,
    Http2Settings,
    KeepAlive,
    ProxyConnection,
    Te,
    Trailer,
    TransferEncoding,
    Upgrade,
    Via,
    XForwardedFor,
    XForwardedProto,
    /// Any other name that begins with `x-forwarded-`.
    XForwardedOther,
    /// `x-real-ip`: the client's address as nginx's users name it.
    XRealIp,
    /// A name that begins with `x-steelyard-`: what the balancer tells of its own answers.
    Own,
    /// Authorization or Proxy-Authorization.
    Credentials,
    /// A protected name with another sign in place of `-`: gateways make the same variable of it.
    Alias,
}

impl Field {
    /// Whether a Connection list may never remove it: framing, Host and what tells of the way so far.
    pub(crate) fn is_protected(self) -> bool {
        use Field::{Alias, ContentLength, Expect, Forwarded, Host, TransferEncoding, Via};
        use Field::{XForwardedFor, XForwardedOther, XForwardedProto, XRealIp};
        matches!(self, Alias | ContentLength | Expect | Forwarded | Host | TransferEncoding | Via)
            || matches!(self, XForwardedFor | XForwardedOther | XForwardedProto | XRealIp)
    }
}

/// Names a field. `name` is a token.
#[inline]
pub(crate) fn classify(name: &[u8]) -> Field {
    let Some(first) = name.first() else { return Field::Other };
    match (name.len(), first | 0x20) {
        (2, b't') => plain(name, b"te", Field::Te),
        (3, b'v') => plain(name, b"via", Field::Via),
        (4, b'h') => plain(name, b"host", Field::Host),
        (6, b'e') => plain(name, b"expect", Field::Expect),
        (7, b't') => plain(name, b"trailer", Field::Trailer),
        (7, b'u') => plain(name, b"upgrade", Field::Upgrade),
        (9, b'f') => plain(name, b"forwarded", Field::Forwarded),
        (9, b'x') => aliased(name, b"x-real-ip", Field::XRealIp),
        (10, b'c') => plain(name, b"connection", Field::Connection),
        (10, b'k') => plain(name, b"keep-alive", Field::KeepAlive),
        (13, b'a') => plain(name, b"authorization", Field::Credentials),
        (14, b'c') => aliased(name, b"content-length", Field::ContentLength),
        (14, b'h') => plain(name, b"http2-settings", Field::Http2Settings),
        (16, b'p') => plain(name, b"proxy-connection", Field::ProxyConnection),
        (17, b't') => aliased(name, b"transfer-encoding", Field::TransferEncoding),
        (19, b'p') => plain(name, b"proxy-authorization", Field::Credentials),
        (12.., b'x') => prefixed(name),
        _ => Field::Other,
    }
}

#[inline]
fn plain(name: &[u8], wanted: &[u8], field: Field) -> Field {
    if name.eq_ignore_ascii_case(wanted) { field } else { Field::Other }
}

// Inlined, so that each length is compared in one step.
#[inline(always)]
fn aliased(name: &[u8], wanted: &[u8], field: Field) -> Field {
    if name.eq_ignore_ascii_case(wanted) {
        field
    } else if equal_to_gateways(name, wanted) {
        Field::Alias
    } else {
        Field::Other
    }
}

fn prefixed(name: &[u8]) -> Field {
    const PREFIX: &[u8] = b"x-forwarded-";
    const OWN: &[u8] = b"x-steelyard-";
    const _: () = assert!(PREFIX.len() == OWN.len());
    let (start, rest) = name.split_at(PREFIX.len());
    if !start.eq_ignore_ascii_case(PREFIX) {
        return match start {
            _ if equal_to_gateways(start, PREFIX) => Field::Alias,
            _ if equal_to_gateways(start, OWN) => Field::Own,
            _ => Field::Other,
        };
    }
    if rest.eq_ignore_ascii_case(b"for") {
        Field::XForwardedFor
    } else if rest.eq_ignore_ascii_case(b"proto") {
        Field::XForwardedProto
    } else {
        Field::XForwardedOther
    }
}

/// Gateways make a variable of a field's name: they turn `-` into `_`, and some whatever is no letter and no digit.
fn equal_to_gateways(name: &[u8], wanted: &[u8]) -> bool {
    let same = |(&a, &b): (&u8, &u8)| {
        a.eq_ignore_ascii_case(&b) || (b == b'-' && !a.is_ascii_alphanumeric())
    };
    name.len() == wanted.len() && name.iter().zip(wanted).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_case() {
        let rows: [(&str, Field); 36] = [
            ("te", Field::Te),
            ("VIA", Field::Via),
            ("Host", Field::Host),
            ("Expect", Field::Expect),
            ("trailer", Field::Trailer),
            ("Upgrade", Field::Upgrade),
            ("forwarded", Field::Forwarded),
            ("Connection", Field::Connection),
            ("Keep-Alive", Field::KeepAlive),
            ("CONTENT-LENGTH", Field::ContentLength),
            ("Content_Length", Field::Alias),
            ("HTTP2-Settings", Field::Http2Settings),
            ("Proxy-Connection", Field::ProxyConnection),
            ("transfer-encoding", Field::TransferEncoding),
            ("Transfer_Encoding", Field::Alias),
            ("X-Forwarded-For", Field::XForwardedFor),
            ("x-forwarded-proto", Field::XForwardedProto),
            ("X-Forwarded-Host", Field::XForwardedOther),
            ("X_Forwarded-For", Field::Alias),
            ("x-real-IP", Field::XRealIp),
            ("X_Real_IP", Field::Alias),
            ("authorization", Field::Credentials),
            ("Proxy-Authorization", Field::Credentials),
            ("X.Forwarded.For", Field::Alias),
            ("x~forwarded-proto", Field::Alias),
            ("X-Real.IP", Field::Alias),
            ("Content.Length", Field::Alias),
            ("Transfer+Encoding", Field::Alias),
            ("XaForwarded-For", Field::Other),
            ("X-Steelyard-Cause", Field::Own),
            ("x_steelyard_id", Field::Own),
            ("x-steelyard-", Field::Own),
            ("x-steelyards", Field::Other),
            ("User-Agent", Field::Other),
            ("Content-Length2", Field::Other),
            ("", Field::Other),
        ];
        for (name, field) in rows {
            assert_eq!(classify(name.as_bytes()), field, "{name}");
        }
    }
}
