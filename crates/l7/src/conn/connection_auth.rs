//! Authentication of a connection instead of a request: NTLM and Negotiate (RFC 4559).
//!
//! A server connection that is authenticated this way belongs to one client. This module detects the header fields;
//! `exchange` assigns the connection.

use wire::http1::Header;

/// Whether a request authenticates its connection.
pub fn request_authenticates(fields: &[Header<'_>]) -> bool {
    fields.iter().any(|field| {
        // The length is compared first: few names have these lengths.
        let named = match field.name.len() {
            13 => field.name.eq_ignore_ascii_case("authorization"),
            19 => field.name.eq_ignore_ascii_case("proxy-authorization"),
            _ => false,
        };
        named && is_connection_scheme(field.value)
    })
}

/// Whether a response requests authentication of the connection. Servers send either field with any status, so every
/// response is checked.
pub fn answer_asks_authentication(fields: &[Header<'_>]) -> bool {
    let challenges = fields.iter().filter(|field| {
        // The length is compared first: few names have these lengths.
        match field.name.len() {
            16 => field.name.eq_ignore_ascii_case("www-authenticate"),
            18 => field.name.eq_ignore_ascii_case("proxy-authenticate"),
            _ => false,
        }
    });
    // A field may hold several challenges, and a comma may also be part of a challenge. No other challenge starts with
    // these scheme names.
    challenges.flat_map(|field| field.value.split(|byte| *byte == b',')).any(is_connection_scheme)
}

/// Whether credentials or a challenge start with such a scheme.
fn is_connection_scheme(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    let end = value.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(value.len());
    let scheme = &value[..end];
    scheme.eq_ignore_ascii_case(b"ntlm") || scheme.eq_ignore_ascii_case(b"negotiate")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field<'a>(name: &'a str, value: &'a str) -> Header<'a> {
        Header { name, value: value.as_bytes() }
    }

    #[test]
    fn requests_that_authenticate_their_connection() {
        let rows = [
            ("Authorization", "NTLM TlRMTVNTUAAB", true),
            ("authorization", "ntlm TlRMTVNTUAAB", true),
            ("Authorization", " Negotiate YII", true),
            ("Proxy-Authorization", "NEGOTIATE YII", true),
            ("Authorization", "Negotiate", true),
            ("Authorization", "Basic bmVnb3RpYXRl", false),
            ("Authorization", "Bearer ntlm", false),
            ("Authorization", "NTLMx TlRM", false),
            ("Authorization", "", false),
            ("X-Authorizatio", "NTLM TlRM", false),
            ("Authorizations", "NTLM TlRM", false),
        ];
        for (name, value, wanted) in rows {
            let fields = [field("Host", "a"), field(name, value)];
            assert_eq!(request_authenticates(&fields), wanted, "{name}: {value}");
        }
    }

    #[test]
    fn answers_that_ask_for_it() {
        let rows = [
            ("WWW-Authenticate", "NTLM", true),
            ("www-authenticate", "Negotiate, NTLM, Basic realm=\"a, b\"", true),
            ("WWW-Authenticate", "Basic realm=\"a\", negotiate", true),
            ("Proxy-Authenticate", "NTLM TlRMTVNTUAAC", true),
            ("proxy-authenticate", "Basic, NTLM", true),
            ("WWW-Authenticate", "Basic realm=\"ntlm\"", false),
            ("WWW-Authenticate", "Digest realm=\"a\", nonce=\"b\"", false),
            ("Proxy-Authenticate", "Basic realm=\"a\"", false),
            ("X-Authenticate", "NTLM", false),
            ("WWW-Authenticatf", "NTLM", false),
        ];
        for (name, value, wanted) in rows {
            let fields = [field("Date", "x"), field(name, value)];
            assert_eq!(answer_asks_authentication(&fields), wanted, "{name}: {value}");
        }
    }
}
