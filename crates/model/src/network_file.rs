//! Reads a file of networks: one a line, with comments behind `#`. It opens no file.
//!
//! A network with bits behind its prefix length is refused: it is a mistake, or a line of which only a part was written.

use std::net::IpAddr;

use crate::config::{IpPrefix, NetworkSet};

/// Most bytes of one file.
/// The networks of the largest clouds fit many times.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Most bytes of a line that an error shows.
const SHOWN: usize = 60;

/// Why a file is no list of networks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkFileError {
    #[error(
        "line {line}: `{found}` is no network; expected one such as 10.0.0.0/8 or 2001:db8::/32"
    )]
    NotANetwork { line: usize, found: String },
    #[error(
        "line {line}: `{found}` has bits behind its prefix; expected {expected}, or is the file not whole?"
    )]
    HostBits { line: usize, found: String, expected: IpPrefix },
    #[error("it has no network, so nobody would be trusted; expected one a line")]
    Empty,
}

/// The networks of a file.
///
/// # Errors
/// The first line that is no network, or that the file has none.
pub fn parse_network_file(content: &[u8]) -> Result<NetworkSet, NetworkFileError> {
    let mut prefixes = Vec::new();
    for (at, bytes) in content.split(|byte| *byte == b'\n').enumerate() {
        let text = String::from_utf8_lossy(bytes);
        let text = text.split('#').next().unwrap_or_default().trim();
        if !text.is_empty() {
            prefixes.push(parse_line(text, at + 1)?);
        }
    }
    match prefixes.is_empty() {
        true => Err(NetworkFileError::Empty),
        false => Ok(NetworkSet::new(&prefixes)),
    }
}

fn parse_line(text: &str, line: usize) -> Result<IpPrefix, NetworkFileError> {
    let found = || text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let wrong = || NetworkFileError::NotANetwork { line, found: found() };
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let whole = if address.is_ipv4() { 32 } else { 128 };
    let bits = match bits {
        Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
            bits.parse().map_err(|_| wrong())?
        }
        Some(_) => return Err(wrong()),
        None => whole,
    };
    let prefix = IpPrefix::new(address, bits).ok_or_else(wrong)?;
    if prefix.address() != address {
        return Err(NetworkFileError::HostBits { line, found: found(), expected: prefix });
    }
    Ok(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_addresses_and_comments_are_read() {
        let text = b"# a CDN\r\n192.0.2.0/24\r\n\n 2001:db8::/32 # its other family\n203.0.113.9";
        let set = parse_network_file(text).unwrap();
        assert_eq!(set.prefixes().len(), 3);
        for (address, is_in) in [
            ("192.0.2.255", true),
            ("192.0.3.0", false),
            ("2001:db8:1::1", true),
            ("203.0.113.9", true),
            ("203.0.113.10", false),
        ] {
            assert_eq!(set.contains(address.parse().unwrap()), is_in, "{address}");
        }
    }

    #[test]
    fn files_that_are_not_whole_or_no_lists_are_refused() {
        let error = |text: &[u8]| parse_network_file(text).unwrap_err().to_string();
        for (text, says) in [
            (&b""[..], "it has no network"),
            (b"# nothing\n\n", "it has no network"),
            (
                b"10.0.0.0/8\n192.0.2.0/2",
                "line 2: `192.0.2.0/2` has bits behind its prefix; expected 192.0.0.0/2",
            ),
            (b"2400:cb00::/3", "line 1"),
            (b"10.0.0.0/8\n10.0.0", "line 2: `10.0.0` is no network"),
            (b"10.0.0.0/33", "is no network"),
            (b"10.0.0.0/+8", "is no network"),
            (b"10.0.0.0/", "is no network"),
            (b"<html>\x07", "line 1: `<html> ` is no network"),
            (b"\xff\xfe", "line 1"),
        ] {
            assert!(error(text).contains(says), "{}", error(text));
        }
        assert!(error("9".repeat(1_000).as_bytes()).len() < 200);
    }
}
