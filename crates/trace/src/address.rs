//! Addresses as packets carry them, in sixteen bytes, and as people read them.

use std::net::{IpAddr, Ipv6Addr};

/// The address; an IPv4-mapped one becomes IPv4.
pub fn ip(bytes: [u8; 16]) -> IpAddr {
    let address = Ipv6Addr::from(bytes);
    address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
}

/// Sixteen bytes for an address.
pub fn bytes(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}
