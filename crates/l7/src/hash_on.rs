//! The part of a request or connection that a pool hashes, found in the head that goes to the server.
//!
//! The head was parsed and written by `wire`, so its form is known: this only looks, in place. What is not there has
//! no hash, and the policy takes the client's address instead.

use std::net::SocketAddr;

use model::config::HashOn;
use model::{hash, head};

/// The hash of a request's part; `target`: where the request target lies in `bytes`. `None`: the address is meant, or
/// the request lacks the part.
pub fn key(on: &HashOn, bytes: &[u8], target: (usize, usize), peer: SocketAddr) -> Option<u64> {
    let target = || bytes.get(target.0..target.1).unwrap_or_default();
    let part = match on {
        HashOn::Address | HashOn::AddressPort => return of_connection(on, peer),
        HashOn::Uri => Some(target()),
        HashOn::Path => target().split(|b| *b == b'?').next(),
        HashOn::Query(name) => head::parameters(target(), name.as_bytes()).next(),
        HashOn::Header(name) => head::fields(bytes, name.as_bytes()).next(),
        HashOn::Cookie(name) => head::fields(bytes, b"cookie")
            .find_map(|all| head::cookies(all, name.as_bytes()).next()),
    };
    part.filter(|part| !part.is_empty()).map(hash::part)
}

/// The same for a connection whose bytes are not looked at.
pub fn of_connection(on: &HashOn, peer: SocketAddr) -> Option<u64> {
    matches!(on, HashOn::AddressPort).then(|| hash::client_port(peer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"GET /a/b?user=7&x=&y=%20 HTTP/1.1\r\nhost: shop\r\nX-Tenant:  blue \r\n\
        cookie: id=42; SID=abc\r\ncookie: late=1\r\nx-tenant: red\r\n\r\nx-body: no\r\n";

    fn of(on: &HashOn) -> Option<u64> {
        let end = HEAD.iter().skip(4).position(|b| *b == b' ').unwrap() + 4;
        key(on, HEAD, (4, end), "192.0.2.1:99".parse().unwrap())
    }

    #[test]
    fn parts_are_found() {
        let named = |make: fn(String) -> HashOn, name: &str| make(name.to_owned());
        for (on, want) in [
            (HashOn::Uri, Some(&b"/a/b?user=7&x=&y=%20"[..])),
            (HashOn::Path, Some(&b"/a/b"[..])),
            (named(HashOn::Query, "user"), Some(&b"7"[..])),
            (named(HashOn::Query, "y"), Some(&b"%20"[..])),
            (named(HashOn::Query, "x"), None),
            (named(HashOn::Query, "USER"), None),
            (named(HashOn::Header, "x-tenant"), Some(&b"blue"[..])),
            (named(HashOn::Header, "HOST"), Some(&b"shop"[..])),
            (named(HashOn::Header, "x-body"), None),
            (named(HashOn::Header, "get"), None),
            (named(HashOn::Cookie, "id"), Some(&b"42"[..])),
            (named(HashOn::Cookie, "SID"), Some(&b"abc"[..])),
            (named(HashOn::Cookie, "sid"), None),
            (named(HashOn::Cookie, "late"), Some(&b"1"[..])),
        ] {
            assert_eq!(of(&on), want.map(hash::part), "{on:?}");
        }
        assert_eq!(of(&HashOn::Address), None);
        let peer = "192.0.2.1:99".parse().unwrap();
        assert_eq!(of(&HashOn::AddressPort), Some(hash::client_port(peer)));
    }

    #[test]
    fn no_bytes_are_too_strange() {
        for head in [&b""[..], b"\n", b":", b"\r\n\r\n", b"GET ? HTTP/1.1\r\n:\r\n=;=\r\ncookie:"] {
            for on in [
                HashOn::Uri,
                HashOn::Path,
                HashOn::Query("q".into()),
                HashOn::Header("h".into()),
                HashOn::Cookie("c".into()),
            ] {
                let peer = "192.0.2.1:99".parse().unwrap();
                key(&on, head, (4, 9000), peer);
            }
        }
    }
}
