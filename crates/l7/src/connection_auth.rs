//! Authentication that holds for a connection instead of a request: NTLM and Negotiate (RFC 4559).
//!
//! A connection to a server that is authenticated so is its client's alone. Which fields say that it is, or is about to
//! be, is read here; whose the connection is then is `exchange`'s to say.

use wire::http1::Header;

/// Whether a request authenticates its connection.
pub fn is_given(fields: &[Header<'_>]) -> bool {
    fields.iter().any(|field| {
        // Few names have these lengths.
        let named = match field.name.len() {
            13 => field.name.eq_ignore_ascii_case("authorization"),
            19 => field.name.eq_ignore_ascii_case("proxy-authorization"),
            _ => false,
        };
        named && is_of_connection(field.value)
    })
}

/// Whether an answer of this status asks for it.
pub fn is_asked_for(status: u16, fields: &[Header<'_>]) -> bool {
    let name = match status {
        401 => "www-authenticate",
        407 => "proxy-authenticate",
        _ => return false,
    };
    let challenges = fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
    // A field may have several challenges, and a comma may also stand within one: no other begins with these words.
    challenges.flat_map(|field| field.value.split(|byte| *byte == b',')).any(is_of_connection)
}

/// Whether credentials, or a challenge, begin with such a scheme.
fn is_of_connection(value: &[u8]) -> bool {
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
            assert_eq!(is_given(&fields), wanted, "{name}: {value}");
        }
    }

    #[test]
    fn answers_that_ask_for_it() {
        let rows = [
            (401, "WWW-Authenticate", "NTLM", true),
            (401, "www-authenticate", "Negotiate, NTLM, Basic realm=\"a, b\"", true),
            (401, "WWW-Authenticate", "Basic realm=\"a\", negotiate", true),
            (407, "Proxy-Authenticate", "NTLM TlRMTVNTUAAC", true),
            (401, "WWW-Authenticate", "Basic realm=\"ntlm\"", false),
            (401, "WWW-Authenticate", "Digest realm=\"a\", nonce=\"b\"", false),
            (401, "Proxy-Authenticate", "NTLM", false),
            (407, "WWW-Authenticate", "NTLM", false),
            (200, "WWW-Authenticate", "NTLM", false),
        ];
        for (status, name, value, wanted) in rows {
            let fields = [field("Date", "x"), field(name, value)];
            assert_eq!(is_asked_for(status, &fields), wanted, "{status} {name}: {value}");
        }
    }
}
