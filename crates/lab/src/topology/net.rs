//! An IP address with its prefix length: `10.0.1.2/24`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An interface's address and prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceAddress {
    pub address: IpAddr,
    /// Prefix length, bits.
    pub length: u8,
}

impl InterfaceAddress {
    /// Whether an address is in this network.
    pub fn holds(&self, address: IpAddr) -> bool {
        match (bits(self.address), bits(address)) {
            ((own, width), (other, same)) if width == same => {
                let shift = u32::from(width) - u32::from(self.length);
                own.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0)
            }
            _ => false,
        }
    }
}

/// The bits of an address, and how many it has.
fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl FromStr for InterfaceAddress {
    type Err = ();

    fn from_str(text: &str) -> Result<InterfaceAddress, ()> {
        let (address, length) = text.split_once('/').ok_or(())?;
        let address: IpAddr = address.parse().map_err(drop)?;
        let length: u8 = length.parse().map_err(drop)?;
        if length <= bits(address).1 { Ok(InterfaceAddress { address, length }) } else { Err(()) }
    }
}

impl fmt::Display for InterfaceAddress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_own() {
        let net = |text: &str| text.parse::<InterfaceAddress>();
        let holds = |of: &str, address: &str| net(of).unwrap().holds(address.parse().unwrap());
        assert!(holds("10.0.1.2/24", "10.0.1.255") && !holds("10.0.1.2/24", "10.0.2.1"));
        assert!(holds("0.0.0.0/0", "203.0.113.9") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("2001:db8::1/64", "2001:db8::ffff") && !holds("::1/128", "::2"));
        assert!(holds("::/0", "2001:db8::1"));
        for wrong in ["10.0.1.2", "10.0.1.2/33", "::1/129", "x/8", "10.0.1.2/", ""] {
            assert_eq!(net(wrong), Err(()), "{wrong}");
        }
        assert_eq!(net("10.0.1.2/24").unwrap().to_string(), "10.0.1.2/24");
    }
}
