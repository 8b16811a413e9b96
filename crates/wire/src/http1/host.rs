//! `host[:port]` (RFC 9110 §7.2, RFC 3986 §3.2.2). It resolves nothing.
//!
//! Stricter than the RFC, because a server may parse differently. Rejected: sub-delimiters (a comma joins two hosts),
//! percent-encoding (some servers decode it, so one host would have two names), IPvFuture, and the empty host. An empty
//! port passes, as the grammar allows it.

/// Whether `text` is a host with an optional port.
#[inline]
pub fn is_host(text: &[u8]) -> bool {
    if text.first() == Some(&b'[') {
        return is_literal(text);
    }
    let end = text.iter().position(|&byte| !NAME[byte as usize]).unwrap_or(text.len());
    end > 0 && is_port(&text[end..])
}

/// The unreserved characters of RFC 3986 §2.3, by byte.
const NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        table[at] = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'~');
        at += 1;
    }
    table
};

fn is_port(rest: &[u8]) -> bool {
    match rest {
        [] | [b':'] => true,
        [b':', digits @ ..] if digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit) => {
            digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')) <= 65_535
        }
        _ => false,
    }
}

fn is_literal(text: &[u8]) -> bool {
    let Some(close) = memchr::memchr(b']', text) else { return false };
    let inside = std::str::from_utf8(&text[1..close]).unwrap_or_default();
    inside.parse::<std::net::Ipv6Addr>().is_ok() && is_port(&text[close + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for good in
            ["a", "shop.example", "a_b:80", "192.0.2.1:65535", "[::1]", "[2001:db8::1]:8080"]
        {
            assert!(is_host(good.as_bytes()), "{good}");
        }
        assert!(is_host(b"a:"));
        for bad in ["", ":80", "a b", "a,b", "a:65536", "a:8 0", "a:-1", "a/b", "user@a", "a:1:2"] {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
        for bad in
            ["[::1", "[]", "[::1]x", "[v1.a]", "[fe80::1%25eth0]", "a%41", "a%2eb", "a\t", "ä"]
        {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
    }
}
