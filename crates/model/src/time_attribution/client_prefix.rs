//! Networks of clients: the addresses in one row of a report.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Prefix length of an IPv4 network.
/// The prefix that RFC 7871 §11.1 recommends.
const V4: u32 = 24;
/// Prefix length of an IPv6 network.
/// The prefix that RFC 7871 §11.1 recommends.
const V6: u32 = 56;

/// A network of clients: /24 of IPv4, /56 of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientPrefix(IpAddr);

impl ClientPrefix {
    /// The network of a client.
    pub fn from_client(client: IpAddr) -> ClientPrefix {
        ClientPrefix(match client.to_canonical() {
            IpAddr::V4(ip) => {
                IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() >> (32 - V4) << (32 - V4)))
            }
            IpAddr::V6(ip) => {
                IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> (128 - V6) << (128 - V6)))
            }
        })
    }
}

impl std::fmt::Display for ClientPrefix {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            IpAddr::V4(ip) => write!(to, "{ip}/{V4}"),
            IpAddr::V6(ip) => write!(to, "{ip}/{V6}"),
        }
    }
}

/// Addresses with a common prefix: `192.0.2.0/24`, `2001:db8::/32`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPrefix {
    address: IpAddr,
    bits: u32,
}

impl AddressPrefix {
    /// Whether the prefix covers an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(mine), IpAddr::V4(other)) => {
                let shift = 32 - self.bits;
                mine.to_bits().checked_shr(shift) == other.to_bits().checked_shr(shift)
            }
            (IpAddr::V6(mine), IpAddr::V6(other)) => {
                let shift = 128 - self.bits;
                mine.to_bits().checked_shr(shift) == other.to_bits().checked_shr(shift)
            }
            _ => false,
        }
    }
}

impl std::str::FromStr for AddressPrefix {
    type Err = String;

    fn from_str(text: &str) -> Result<AddressPrefix, String> {
        let wrong = || {
            format!("'{text}' is no network; expected ADDRESS/BITS, as 192.0.2.0/24, or an address")
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most {
            return Err(wrong());
        }
        Ok(AddressPrefix { address, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_share_networks() {
        for (client, network) in [
            ("192.0.2.77", "192.0.2.0/24"),
            ("::ffff:192.0.2.77", "192.0.2.0/24"),
            ("2001:db8:1:2ff:3::4", "2001:db8:1:200::/56"),
        ] {
            assert_eq!(ClientPrefix::from_client(client.parse().unwrap()).to_string(), network);
        }
    }

    #[test]
    fn prefixes_hold_what_begins_alike() {
        for (prefix, address, want) in [
            ("192.0.2.0/24", "192.0.2.9", true),
            ("192.0.2.0/24", "192.0.3.9", false),
            ("192.0.2.9", "192.0.2.9", true),
            ("192.0.2.9", "192.0.2.8", false),
            ("0.0.0.0/0", "9.9.9.9", true),
            ("0.0.0.0/0", "::1", false),
            ("2001:db8::/32", "2001:db8:7::1", true),
            ("::/0", "2001:db8:7::1", true),
        ] {
            let prefix: AddressPrefix = prefix.parse().unwrap();
            assert_eq!(prefix.contains(address.parse().unwrap()), want, "{prefix:?} {address}");
        }
        for text in ["", "192.0.2.0/33", "::/129", "host", "1.2.3.4/", "1.2.3.4/x"] {
            assert!(text.parse::<AddressPrefix>().unwrap_err().contains("no network"), "{text}");
        }
    }
}
