//! A packet from its IP header on: its connection, and how much of it may be stored. Pure.
//!
//! Of a packet's payload, only the beginning of an HTTP/1 head is ever stored, without the values of fields that carry
//! a secret. The continuation in a further packet is not stored at all, so that no part of a split value is stored.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use model::request_head::SECRET_FIELDS;

/// IPPROTO_TCP, in the protocol field of IPv4 and the next-header field of IPv6.
const TCP: u8 = 6;
/// How a head begins (RFC 9112 §3, §4).
const BEGINNINGS: [&[u8]; 10] = [
    b"GET ",
    b"HEAD ",
    b"POST ",
    b"PUT ",
    b"DELETE ",
    b"CONNECT ",
    b"OPTIONS ",
    b"TRACE ",
    b"PATCH ",
    b"HTTP/1.",
];

/// Source and destination of a packet, and the offset of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketEndpoints {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// Bytes before the payload.
    pub payload: usize,
    /// Length of the whole packet by its header.
    pub original: u32,
}

/// Whose packet this is; `None`: it is no first fragment of TCP, or its headers are cut.
pub fn parse_endpoints(bytes: &[u8]) -> Option<PacketEndpoints> {
    let half = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let (from, to, tcp, original): (IpAddr, IpAddr, usize, u32) = match bytes.first()? >> 4 {
        4 => {
            let address = |at: usize| {
                let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
                Some(IpAddr::V4(Ipv4Addr::from(four)))
            };
            if *bytes.get(9)? != TCP || half(6)? & 0x1fff != 0 {
                return None;
            }
            let head = usize::from(bytes.first()? & 0xf) * 4;
            (address(12)?, address(16)?, head, u32::from(half(2)?))
        }
        6 => {
            let address = |at: usize| {
                let sixteen: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
                Some(IpAddr::V6(Ipv6Addr::from(sixteen)))
            };
            if *bytes.get(6)? != TCP {
                return None;
            }
            (address(8)?, address(24)?, 40, u32::from(half(4)?) + 40)
        }
        _ => return None,
    };
    let payload = tcp + usize::from(bytes.get(tcp + 12)? >> 4) * 4;
    let from = SocketAddr::new(from, half(tcp)?);
    let to = SocketAddr::new(to, half(tcp + 2)?);
    (payload <= bytes.len()).then_some(PacketEndpoints {
        source: from,
        destination: to,
        payload,
        original,
    })
}

/// Truncates a packet to its headers, and at most this much of an HTTP/1 head.
pub fn truncate_packet(bytes: &[u8], ends: &PacketEndpoints, most: usize) -> Box<[u8]> {
    let (headers, payload) = bytes.split_at(ends.payload.min(bytes.len()));
    if most == 0 || !BEGINNINGS.iter().any(|beginning| payload.starts_with(beginning)) {
        return headers.into();
    }
    let mut all = headers.to_vec();
    // A body follows the head, and is never stored.
    let whole =
        payload.windows(4).position(|four| four == b"\r\n\r\n").map_or(payload.len(), |at| at + 4);
    let head = payload.get(..whole.min(most)).unwrap_or(payload);
    let mut secret = false;
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        // A line that begins with a space continues the previous field value (RFC 9112 §5.2).
        let goes_on = line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        let colon = line.iter().position(|byte| *byte == b':');
        let from = match colon.and_then(|at| line.get(..at)) {
            _ if goes_on => 0,
            Some(name) => {
                let is = |it: &&str| name.trim_ascii().eq_ignore_ascii_case(it.as_bytes());
                secret = SECRET_FIELDS.iter().any(is);
                name.len() + 1
            }
            None => {
                secret = false;
                0
            }
        };
        for (at, byte) in line.iter().enumerate() {
            let hide = secret && at >= from && !byte.is_ascii_whitespace();
            all.push(if hide { b'*' } else { *byte });
        }
    }
    all.into()
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A packet of TCP with this payload.
    pub fn packet(from: &str, to: &str, payload: &[u8]) -> Vec<u8> {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        let mut bytes = match (from.ip(), to.ip()) {
            (IpAddr::V4(source), IpAddr::V4(target)) => {
                let length = (40 + payload.len()) as u16;
                let mut head = vec![0x45, 0];
                head.extend(length.to_be_bytes());
                head.extend([0, 0, 0x40, 0, 64, TCP, 0, 0]);
                head.extend(source.octets());
                head.extend(target.octets());
                head
            }
            (IpAddr::V6(source), IpAddr::V6(target)) => {
                let mut head = vec![0x60, 0, 0, 0];
                head.extend(((20 + payload.len()) as u16).to_be_bytes());
                head.extend([TCP, 64]);
                head.extend(source.octets());
                head.extend(target.octets());
                head
            }
            _ => panic!("two families"),
        };
        bytes.extend(from.port().to_be_bytes());
        bytes.extend(to.port().to_be_bytes());
        bytes.extend([0; 8]);
        bytes.extend([5 << 4, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn ends_are_read() {
        for (from, to) in
            [("192.0.2.1:1000", "192.0.2.2:80"), ("[2001:db8::1]:7", "[2001:db8::2]:443")]
        {
            let bytes = packet(from, to, b"hello");
            let ends = parse_endpoints(&bytes).unwrap();
            assert_eq!(
                (ends.source.to_string(), ends.destination.to_string()),
                (from.into(), to.into())
            );
            assert_eq!((ends.payload + 5, ends.original as usize), (bytes.len(), bytes.len()));
        }
        let mut later = packet("192.0.2.1:1", "192.0.2.2:2", b"");
        later[7] = 1;
        assert_eq!(parse_endpoints(&later), None, "a later fragment has no ports");
        let mut other = packet("192.0.2.1:1", "192.0.2.2:2", b"");
        other[9] = 17;
        assert_eq!(parse_endpoints(&other), None);
        assert_eq!(parse_endpoints(&packet("192.0.2.1:1", "192.0.2.2:2", b"")[..30]), None);
    }

    fn keeps(payload: &[u8], most: usize) -> String {
        let bytes = packet("192.0.2.1:1", "192.0.2.2:2", payload);
        let ends = parse_endpoints(&bytes).unwrap();
        let kept = truncate_packet(&bytes, &ends, most);
        assert_eq!(kept[..40], bytes[..40], "headers are kept whole");
        String::from_utf8_lossy(&kept[40..]).into_owned()
    }

    #[test]
    fn secrets_are_never_kept() {
        let head = b"GET /a HTTP/1.1\r\nHost: x\r\nAUTHORIZATION : Basic c2VjcmV0\r\ncookie:a=1; b=2\r\n\r\nbody secret";
        assert_eq!(keeps(head, 0), "");
        assert_eq!(
            keeps(head, 4_096),
            "GET /a HTTP/1.1\r\nHost: x\r\nAUTHORIZATION : ***** ********\r\ncookie:**** ***\r\n\r\n"
        );
        assert_eq!(keeps(head, 20), "GET /a HTTP/1.1\r\nHos");
        assert_eq!(keeps(b"tion: Basic c2VjcmV0\r\n\r\n", 4_096), "", "what goes on from before");
        assert_eq!(keeps(b"\x16\x03\x01\x02\x00", 4_096), "");
        let folded = b"GET / HTTP/1.1\r\nCookie:\r\n a=topsecret\r\nHost: x\r\n\r\n";
        let shown = "GET / HTTP/1.1\r\nCookie:\r\n ***********\r\nHost: x\r\n\r\n";
        assert_eq!(keeps(folded, 4_096), shown);
        let cut = b"HTTP/1.1 200 OK\r\nSet-Cookie: s=topsecret";
        assert_eq!(keeps(cut, 4_096), "HTTP/1.1 200 OK\r\nSet-Cookie: ***********");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120), most in 0usize..200) {
            if let Some(ends) = parse_endpoints(&bytes) {
                prop_assert!(truncate_packet(&bytes, &ends, most).len() <= bytes.len());
            }
        }

        #[test]
        fn a_secret_passes_at_no_length(most in 0usize..200, name in 0usize..SECRET_FIELDS.len()) {
            let head = format!("POST / HTTP/1.1\r\n{}: Zebra\r\nHost: a\r\n\r\n", SECRET_FIELDS[name]);
            prop_assert!(!keeps(head.as_bytes(), most).contains('Z'));
        }
    }
}
