//! A network: an address and a prefix length.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Serialize, Serializer};

/// A network: an address and a prefix length; the other bits are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpPrefix {
    address: IpAddr,
    bits: u8,
}

impl IpPrefix {
    /// The network of an address; `None` if the family has fewer bits.
    pub fn new(address: IpAddr, bits: u8) -> Option<IpPrefix> {
        let address = match address {
            IpAddr::V4(v4) if bits <= 32 => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) if bits <= 128 => {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
            _ => return None,
        };
        Some(IpPrefix { address, bits })
    }

    pub fn address(self) -> IpAddr {
        self.address
    }

    /// The prefix length.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// Whether the network contains an address.
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && IpPrefix::new(address, self.bits) == Some(self)
    }
}

impl fmt::Display for IpPrefix {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}", self.address, self.bits)
    }
}

impl Serialize for IpPrefix {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_hold_their_addresses() {
        let prefix = IpPrefix::new("10.1.2.3".parse().unwrap(), 8).unwrap();
        assert_eq!(prefix.to_string(), "10.0.0.0/8");
        assert!(prefix.contains("10.255.0.1".parse().unwrap()));
        assert!(!prefix.contains("11.0.0.1".parse().unwrap()));
        assert!(!prefix.contains("2001:db8::1".parse().unwrap()));
        assert!(IpPrefix::new("::".parse().unwrap(), 0).unwrap().contains("::1".parse().unwrap()));
        assert_eq!(IpPrefix::new("10.0.0.0".parse().unwrap(), 33), None);
    }
}
