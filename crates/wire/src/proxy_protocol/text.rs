//! Version 1: one line of text (`proxy-protocol.txt` §2.1).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::header::{
    ProxiedAddresses, ProxyHeaderError, ProxyHeaderResult, ProxyProtocolHeader, ProxyVersion,
};

/// Length of the longest line in bytes, its line end included.
/// PROXY protocol, section 2.1: the longest line for IPv6.
const LONGEST: usize = 107;
/// Length of the shortest line: `PROXY UNKNOWN` and its line end. No binary header is shorter.
pub(super) const SHORTEST: usize = 15;

/// The start of every line.
const WORD: &[u8] = b"PROXY ";

/// Parses a line that starts with `P`.
pub(super) fn read(bytes: &[u8]) -> Result<ProxyHeaderResult, ProxyHeaderError> {
    let known = bytes.len().min(WORD.len());
    if bytes[..known] != WORD[..known] {
        return Err(ProxyHeaderError::Missing);
    }
    let window = bytes.get(..LONGEST).unwrap_or(bytes);
    let Some(end) = window.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
        let missing = missing_bytes(window);
        let fits = bytes.len() + missing <= LONGEST;
        return if fits {
            Ok(ProxyHeaderResult::Partial(missing))
        } else {
            Err(ProxyHeaderError::TooLong)
        };
    };
    match (window[end], window.get(end + 1)) {
        (b'\r', Some(b'\n')) => {}
        (b'\r', None) if end + 1 < LONGEST => return Ok(ProxyHeaderResult::Partial(1)),
        (b'\r', None) => return Err(ProxyHeaderError::TooLong),
        _ => return Err(ProxyHeaderError::BadLine),
    }
    let line =
        std::str::from_utf8(&window[WORD.len()..end]).map_err(|_| ProxyHeaderError::BadLine)?;
    Ok(ProxyHeaderResult::Complete(ProxyProtocolHeader {
        version: ProxyVersion::V1,
        addresses: parse_addresses(line)?,
        length: end + 2,
    }))
}

/// The minimum number of missing bytes of a line without its end.
fn missing_bytes(line: &[u8]) -> usize {
    if line.len() < SHORTEST {
        return SHORTEST - line.len();
    }
    let address = match line.get(WORD.len()..WORD.len() + 5) {
        Some(b"TCP4 ") => "0.0.0.0".len(),
        Some(b"TCP6 ") => "::".len(),
        _ => return 2,
    };
    let least = [address, address, 1, 1];
    let mut at = 0;
    let mut length = 0;
    for byte in &line[WORD.len() + 5..] {
        if *byte == b' ' {
            at += 1;
            length = 0;
        } else {
            length += 1;
        }
    }
    let of_this = least.get(at).map_or(0, |least| least.saturating_sub(length));
    let of_others: usize = least.iter().skip(at + 1).map(|least| 1 + least).sum();
    of_this + of_others + 2
}

fn parse_addresses(line: &str) -> Result<Option<ProxiedAddresses>, ProxyHeaderError> {
    let mut words = line.split(' ');
    let family = words.next().unwrap_or_default();
    if family == "UNKNOWN" {
        // The rest of an `UNKNOWN` line is ignored.
        return Ok(None);
    }
    let four = match family {
        "TCP4" => true,
        "TCP6" => false,
        _ => return Err(ProxyHeaderError::BadLine),
    };
    let [Some(from), Some(to), Some(from_port), Some(to_port), None] =
        [words.next(), words.next(), words.next(), words.next(), words.next()]
    else {
        return Err(ProxyHeaderError::BadLine);
    };
    Ok(Some(ProxiedAddresses {
        source: SocketAddr::new(address(from, four)?, port(from_port)?),
        destination: SocketAddr::new(address(to, four)?, port(to_port)?),
    }))
}

fn address(text: &str, four: bool) -> Result<IpAddr, ProxyHeaderError> {
    let read = match four {
        true => text.parse::<Ipv4Addr>().map(IpAddr::V4),
        false => text.parse::<Ipv6Addr>().map(IpAddr::V6),
    };
    read.map_err(|_| ProxyHeaderError::BadAddress)
}

/// A decimal number without leading zeros.
fn port(text: &str) -> Result<u16, ProxyHeaderError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (text.len() > 1 && text.starts_with('0')) {
        return Err(ProxyHeaderError::BadPort);
    }
    text.parse().map_err(|_| ProxyHeaderError::BadPort)
}

pub(super) fn write(ends: Option<ProxiedAddresses>, out: &mut Vec<u8>) {
    let line = match ends {
        None => "PROXY UNKNOWN\r\n".to_owned(),
        Some(ProxiedAddresses { source, destination }) => {
            let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
            let from = source.ip();
            let to = destination.ip();
            format!("PROXY {family} {from} {to} {} {}\r\n", source.port(), destination.port())
        }
    };
    out.extend_from_slice(line.as_bytes());
}
