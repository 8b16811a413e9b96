//! The Internet checksum (RFC 1071), with the pseudo header of either version of IP.

use std::net::IpAddr;

/// The checksum of `bytes`; zero when they contain their own valid checksum.
pub fn checksum(bytes: &[u8]) -> u16 {
    finish(add(0, bytes))
}

/// The checksum with a pseudo header (RFC 8200 §8.1, and the equivalent for IPv4).
pub fn checksum_with_pseudo_header(
    bytes: &[u8],
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
) -> u16 {
    let mut sum = 0;
    for ip in [source, destination] {
        sum = match ip {
            IpAddr::V4(v4) => add(sum, &v4.octets()),
            IpAddr::V6(v6) => add(sum, &v6.octets()),
        };
    }
    // The length field is wider for IPv6, which changes nothing below 65,536 bytes.
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    sum += u32::from(protocol) + u32::from(length);
    finish(add(sum, bytes))
}

fn add(sum: u32, bytes: &[u8]) -> u32 {
    bytes.chunks(2).fold(sum, |sum, pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        sum + u32::from(u16::from_be_bytes([pair[0], low]))
    })
}

fn finish(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}
