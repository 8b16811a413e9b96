//! Classifies field names: the few names that the codec handles, and all others.
//!
//! Length and first letter are compared first, so most names cost one jump. All other fields are [`HeaderField::Other`]
//! and pass unchanged.

/// A field that the codec handles, or `Other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderField {
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
    /// Any other name with the prefix `x-forwarded-`.
    XForwardedOther,
    /// `x-real-ip`: the client's address, a convention of nginx.
    XRealIp,
    /// A name with the prefix `x-steelyard-`: the balancer's own response fields.
    Own,
    Credentials,
    /// A protected name with another separator in place of `-`: gateways map both names to the same variable.
    Alias,
}

impl HeaderField {
    /// Whether a Connection list may not remove the field: framing, Host, and the fields that describe the earlier
    /// hops.
    pub(crate) fn is_protected(self) -> bool {
        use HeaderField::{Alias, ContentLength, Expect, Forwarded, Host, TransferEncoding, Via};
        use HeaderField::{XForwardedFor, XForwardedOther, XForwardedProto, XRealIp};
        matches!(self, Alias | ContentLength | Expect | Forwarded | Host | TransferEncoding | Via)
            || matches!(self, XForwardedFor | XForwardedOther | XForwardedProto | XRealIp)
    }
}

/// Classifies a field name, which is a token.
#[inline]
pub(crate) fn classify_header(name: &[u8]) -> HeaderField {
    let Some(first) = name.first() else { return HeaderField::Other };
    match (name.len(), first | 0x20) {
        (2, b't') => plain(name, b"te", HeaderField::Te),
        (3, b'v') => plain(name, b"via", HeaderField::Via),
        (4, b'h') => plain(name, b"host", HeaderField::Host),
        (6, b'e') => plain(name, b"expect", HeaderField::Expect),
        (7, b't') => plain(name, b"trailer", HeaderField::Trailer),
        (7, b'u') => plain(name, b"upgrade", HeaderField::Upgrade),
        (9, b'f') => plain(name, b"forwarded", HeaderField::Forwarded),
        (9, b'x') => aliased(name, b"x-real-ip", HeaderField::XRealIp),
        (10, b'c') => plain(name, b"connection", HeaderField::Connection),
        (10, b'k') => plain(name, b"keep-alive", HeaderField::KeepAlive),
        (13, b'a') => plain(name, b"authorization", HeaderField::Credentials),
        (14, b'c') => aliased(name, b"content-length", HeaderField::ContentLength),
        (14, b'h') => plain(name, b"http2-settings", HeaderField::Http2Settings),
        (16, b'p') => plain(name, b"proxy-connection", HeaderField::ProxyConnection),
        (17, b't') => aliased(name, b"transfer-encoding", HeaderField::TransferEncoding),
        (19, b'p') => plain(name, b"proxy-authorization", HeaderField::Credentials),
        (12.., b'x') => prefixed(name),
        _ => HeaderField::Other,
    }
}

#[inline]
fn plain(name: &[u8], wanted: &[u8], field: HeaderField) -> HeaderField {
    if name.eq_ignore_ascii_case(wanted) { field } else { HeaderField::Other }
}

// Inlined, so that each length is compared in one step.
#[inline(always)]
fn aliased(name: &[u8], wanted: &[u8], field: HeaderField) -> HeaderField {
    if name.eq_ignore_ascii_case(wanted) {
        field
    } else if equal_to_gateways(name, wanted) {
        HeaderField::Alias
    } else {
        HeaderField::Other
    }
}

fn prefixed(name: &[u8]) -> HeaderField {
    const PREFIX: &[u8] = b"x-forwarded-";
    const OWN: &[u8] = b"x-steelyard-";
    const _: () = assert!(PREFIX.len() == OWN.len());
    let (start, rest) = name.split_at(PREFIX.len());
    if !start.eq_ignore_ascii_case(PREFIX) {
        return match start {
            _ if equal_to_gateways(start, PREFIX) => HeaderField::Alias,
            _ if equal_to_gateways(start, OWN) => HeaderField::Own,
            _ => HeaderField::Other,
        };
    }
    if rest.eq_ignore_ascii_case(b"for") {
        HeaderField::XForwardedFor
    } else if rest.eq_ignore_ascii_case(b"proto") {
        HeaderField::XForwardedProto
    } else {
        HeaderField::XForwardedOther
    }
}

/// Gateways (CGI, WSGI) map a field name to a variable: they replace `-` by `_`, and some replace every character that
/// is not a letter or digit.
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
        let rows: [(&str, HeaderField); 36] = [
            ("te", HeaderField::Te),
            ("VIA", HeaderField::Via),
            ("Host", HeaderField::Host),
            ("Expect", HeaderField::Expect),
            ("trailer", HeaderField::Trailer),
            ("Upgrade", HeaderField::Upgrade),
            ("forwarded", HeaderField::Forwarded),
            ("Connection", HeaderField::Connection),
            ("Keep-Alive", HeaderField::KeepAlive),
            ("CONTENT-LENGTH", HeaderField::ContentLength),
            ("Content_Length", HeaderField::Alias),
            ("HTTP2-Settings", HeaderField::Http2Settings),
            ("Proxy-Connection", HeaderField::ProxyConnection),
            ("transfer-encoding", HeaderField::TransferEncoding),
            ("Transfer_Encoding", HeaderField::Alias),
            ("X-Forwarded-For", HeaderField::XForwardedFor),
            ("x-forwarded-proto", HeaderField::XForwardedProto),
            ("X-Forwarded-Host", HeaderField::XForwardedOther),
            ("X_Forwarded-For", HeaderField::Alias),
            ("x-real-IP", HeaderField::XRealIp),
            ("X_Real_IP", HeaderField::Alias),
            ("authorization", HeaderField::Credentials),
            ("Proxy-Authorization", HeaderField::Credentials),
            ("X.Forwarded.For", HeaderField::Alias),
            ("x~forwarded-proto", HeaderField::Alias),
            ("X-Real.IP", HeaderField::Alias),
            ("Content.Length", HeaderField::Alias),
            ("Transfer+Encoding", HeaderField::Alias),
            ("XaForwarded-For", HeaderField::Other),
            ("X-Steelyard-Cause", HeaderField::Own),
            ("x_steelyard_id", HeaderField::Own),
            ("x-steelyard-", HeaderField::Own),
            ("x-steelyards", HeaderField::Other),
            ("User-Agent", HeaderField::Other),
            ("Content-Length2", HeaderField::Other),
            ("", HeaderField::Other),
        ];
        for (name, field) in rows {
            assert_eq!(classify_header(name.as_bytes()), field, "{name}");
        }
    }
}
