//! Version 2: a signature, a fixed part, addresses and type-length-values (`proxy-protocol.txt` §2.2).
//!
//! Of the type-length-values, only the checksum is evaluated.

use std::net::{IpAddr, SocketAddr};

use super::header::{
    ProxiedAddresses, ProxyHeaderError, ProxyHeaderResult, ProxyProtocolHeader, ProxyVersion,
};
use super::sum::crc32c;

/// Longest accepted header in bytes.
/// The header with addresses of IPv6 takes 52 bytes; the rest is for type-length-values, such as TLS facts.
pub(super) const LONGEST: usize = 4096;

/// The start of every header, chosen so that no line of another protocol matches it.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Length of the signature, version and command, family and transport, and the length field.
const FIXED: usize = 16;

/// Commands in the low half of the byte after the signature (PROXY protocol, section 2.2).
const LOCAL: u8 = 0;
const PROXY: u8 = 1;

/// Address family in the high half of a byte, transport in the low half (the same section).
const UNSPEC: u8 = 0x00;
const TCP4: u8 = 0x11;
const TCP6: u8 = 0x21;
const UNIX_STREAM: u8 = 0x31;

/// The type of a checksum over the whole header (PP2_TYPE_CRC32C).
const SUM: u8 = 0x03;

/// Parses a header that starts with a carriage return.
pub(super) fn read(bytes: &[u8]) -> Result<ProxyHeaderResult, ProxyHeaderError> {
    let known = bytes.len().min(SIGNATURE.len());
    if bytes[..known] != SIGNATURE[..known] {
        return Err(ProxyHeaderError::Missing);
    }
    let &[.., first, family, high, low] = bytes.get(..FIXED).unwrap_or_default() else {
        return Ok(ProxyHeaderResult::Partial(FIXED - bytes.len()));
    };
    let length = FIXED + usize::from(u16::from_be_bytes([high, low]));
    let command = match (first >> 4, first & 0x0f) {
        (2, command @ (LOCAL | PROXY)) => command,
        (2, _) => return Err(ProxyHeaderError::BadCommand),
        _ => return Err(ProxyHeaderError::BadVersion),
    };
    if length > LONGEST {
        return Err(ProxyHeaderError::TooLong);
    }
    let Some(whole) = bytes.get(..length) else {
        return Ok(ProxyHeaderResult::Partial(length - bytes.len()));
    };
    // `LOCAL`: no client is proxied, so the rest of the header is ignored, the family included.
    let ends = if command == LOCAL { None } else { parse_addresses(whole, family)? };
    Ok(ProxyHeaderResult::Complete(ProxyProtocolHeader {
        version: ProxyVersion::V2,
        addresses: ends,
        length,
    }))
}

fn parse_addresses(whole: &[u8], family: u8) -> Result<Option<ProxiedAddresses>, ProxyHeaderError> {
    let (width, ported) = match family {
        // The length of addresses without a family is unknown, so the rest cannot be parsed.
        UNSPEC => return Ok(None),
        TCP4 => (4, true),
        TCP6 => (16, true),
        UNIX_STREAM => (108, false),
        _ => return Err(ProxyHeaderError::BadFamily),
    };
    let after = FIXED + 2 * width + if ported { 4 } else { 0 };
    let addresses = whole.get(FIXED..after).ok_or(ProxyHeaderError::NoAddresses)?;
    check_tlvs(whole, after)?;
    let ends = ported.then(|| {
        let (from, rest) = addresses.split_at(width);
        let (to, ports) = rest.split_at(width);
        let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
        ProxiedAddresses {
            source: SocketAddr::new(address(from), port(0)),
            destination: SocketAddr::new(address(to), port(2)),
        }
    });
    Ok(ends)
}

fn address(bytes: &[u8]) -> IpAddr {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return four.into();
    }
    <[u8; 16]>::try_from(bytes).unwrap_or_default().into()
}

/// Checks the type-length-values from `at` on.
fn check_tlvs(whole: &[u8], mut at: usize) -> Result<(), ProxyHeaderError> {
    let mut sums = 0;
    while at < whole.len() {
        let &[kind, high, low] = whole.get(at..at + 3).unwrap_or_default() else {
            return Err(ProxyHeaderError::BadTlv);
        };
        let from = at + 3;
        let to = from + usize::from(u16::from_be_bytes([high, low]));
        let value = whole.get(from..to).ok_or(ProxyHeaderError::BadTlv)?;
        if kind == SUM {
            sums += 1;
            let told = <[u8; 4]>::try_from(value).map_err(|_| ProxyHeaderError::BadTlv)?;
            let parts = [&whole[..from], &[0; 4], &whole[to..]];
            if sums > 1 {
                return Err(ProxyHeaderError::BadTlv);
            }
            if crc32c(&parts) != u32::from_be_bytes(told) {
                return Err(ProxyHeaderError::BadSum);
            }
        }
        at = to;
    }
    Ok(())
}

pub(super) fn write(ends: Option<ProxiedAddresses>, out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    let Some(ProxiedAddresses { source, destination }) = ends else {
        return out.extend_from_slice(&[2 << 4 | LOCAL, UNSPEC, 0, 0]);
    };
    let (family, length) = if source.is_ipv4() { (TCP4, 12) } else { (TCP6, 36) };
    out.extend_from_slice(&[2 << 4 | PROXY, family, 0, length]);
    for end in [source, destination] {
        match end.ip() {
            IpAddr::V4(v4) => out.extend_from_slice(&v4.octets()),
            IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()),
        }
    }
    for end in [source, destination] {
        out.extend_from_slice(&end.port().to_be_bytes());
    }
}
