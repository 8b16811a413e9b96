//! The part of a request or connection that a pool hashes, taken from the head for the server.
//!
//! The head was written by `wire`, so its form is known, and it is searched in place. If the part is missing there is
//! no hash, and the policy hashes the client's address instead.

use std::net::SocketAddr;

use model::config::HashKey;
use model::{hash, request_head};

/// The hash of a request's part. The request target is in `bytes` from `target_start` to `target_end`. `None`: the
/// address is to be hashed, or the request lacks the part.
pub fn request_hash(
    on: &HashKey,
    bytes: &[u8],
    target_start: usize,
    target_end: usize,
    peer: SocketAddr,
) -> Option<u64> {
    let target = || bytes.get(target_start..target_end).unwrap_or_default();
    let part = match on {
        // Pools of packets alone hash both ends or link addresses.
        HashKey::Address | HashKey::AddressPort | HashKey::Symmetric | HashKey::SourceMac => {
            return connection_hash(on, peer);
        }
        HashKey::Uri => Some(target()),
        HashKey::Path => target().split(|b| *b == b'?').next(),
        HashKey::Query(name) => request_head::parameters(target(), name.as_bytes()).next(),
        HashKey::Header(name) => request_head::fields(bytes, name.as_bytes()).next(),
        HashKey::Cookie(name) => request_head::fields(bytes, b"cookie")
            .find_map(|all| request_head::cookies(all, name.as_bytes()).next()),
    };
    part.filter(|part| !part.is_empty()).map(hash::hash_part)
}

/// The hash for a connection whose bytes are not parsed.
pub fn connection_hash(on: &HashKey, peer: SocketAddr) -> Option<u64> {
    matches!(on, HashKey::AddressPort).then(|| hash::hash_client_port(peer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"GET /a/b?user=7&x=&y=%20 HTTP/1.1\r\nhost: shop\r\nX-Tenant:  blue \r\n\
        cookie: id=42; SID=abc\r\ncookie: late=1\r\nx-tenant: red\r\n\r\nx-body: no\r\n";

    fn of(on: &HashKey) -> Option<u64> {
        let end = HEAD.iter().skip(4).position(|b| *b == b' ').unwrap() + 4;
        request_hash(on, HEAD, 4, end, "192.0.2.1:99".parse().unwrap())
    }

    #[test]
    fn parts_are_found() {
        let named = |make: fn(String) -> HashKey, name: &str| make(name.to_owned());
        for (on, want) in [
            (HashKey::Uri, Some(&b"/a/b?user=7&x=&y=%20"[..])),
            (HashKey::Path, Some(&b"/a/b"[..])),
            (named(HashKey::Query, "user"), Some(&b"7"[..])),
            (named(HashKey::Query, "y"), Some(&b"%20"[..])),
            (named(HashKey::Query, "x"), None),
            (named(HashKey::Query, "USER"), None),
            (named(HashKey::Header, "x-tenant"), Some(&b"blue"[..])),
            (named(HashKey::Header, "HOST"), Some(&b"shop"[..])),
            (named(HashKey::Header, "x-body"), None),
            (named(HashKey::Header, "get"), None),
            (named(HashKey::Cookie, "id"), Some(&b"42"[..])),
            (named(HashKey::Cookie, "SID"), Some(&b"abc"[..])),
            (named(HashKey::Cookie, "sid"), None),
            (named(HashKey::Cookie, "late"), Some(&b"1"[..])),
        ] {
            assert_eq!(of(&on), want.map(hash::hash_part), "{on:?}");
        }
        assert_eq!(of(&HashKey::Address), None);
        let peer = "192.0.2.1:99".parse().unwrap();
        assert_eq!(of(&HashKey::AddressPort), Some(hash::hash_client_port(peer)));
    }

    #[test]
    fn no_bytes_are_too_strange() {
        for head in [&b""[..], b"\n", b":", b"\r\n\r\n", b"GET ? HTTP/1.1\r\n:\r\n=;=\r\ncookie:"] {
            for on in [
                HashKey::Uri,
                HashKey::Path,
                HashKey::Query("q".into()),
                HashKey::Header("h".into()),
                HashKey::Cookie("c".into()),
            ] {
                let peer = "192.0.2.1:99".parse().unwrap();
                request_hash(&on, head, 4, 9000, peer);
            }
        }
    }
}
