//! Values of the model in the form of the maps. Pure.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use model::config::ReplicationScope;

use crate::abi;

/// An address as 16 bytes, IPv4 mapped into IPv6.
pub fn to_mapped_bytes(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// The address of 16 bytes.
pub fn from_mapped_bytes(bytes: [u8; 16]) -> IpAddr {
    IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
}

/// A time in ticks, at least one, rounded up.
pub fn ticks(time: Duration) -> u32 {
    let ticks = time.as_nanos().div_ceil(1 << abi::TICK_SHIFT);
    // Deadlines have 24 bits in a word of the datapath, of which half lie ahead: 2^23 ticks, 26 days.
    u32::try_from(ticks).unwrap_or(u32::MAX).clamp(1, 1 << 23)
}

/// The cost of one of `rate` a second in ns; 0: no limit.
pub fn cost_ns(rate: Option<u32>) -> u64 {
    rate.map_or(0, |rate| (1_000_000_000 / u64::from(rate.max(1))).max(1))
}

/// The cost of 1024 bytes in ns at a rate of bits a second; 0: no limit.
pub fn byte_cost_ns(bits: Option<u64>) -> u64 {
    bits.map_or(0, |bits| (8 * 1_024 * 1_000_000_000 / bits.max(1)).max(1))
}

/// The scope number of a pool's entries in the sticky table, the same on every machine. Two pools with the same number
/// by chance only evict each other's entries: a server of another service is never used.
pub fn sticky_scope(service: &str, ordinal: u32) -> u32 {
    let bytes = service.bytes().chain(ordinal.to_le_bytes());
    // FNV-1a.
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Flags of a service whose connections are replicated.
pub fn replication_flags(replicate: ReplicationScope) -> u32 {
    let flows = if replicate.includes_flows() { abi::SERVICE_TELLS_FLOWS } else { 0 };
    let affinity = if replicate.includes_affinity() { abi::SERVICE_TELLS_STICKY } else { 0 };
    flows | affinity
}

/// Key of an address, port and protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VipKey {
    /// The address; unspecified for every address of its family.
    pub address: IpAddr,
    /// The port; 0 for any.
    pub port: u16,
    pub protocol: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_back() {
        for text in ["192.0.2.1", "2001:db8::1"] {
            let ip: IpAddr = text.parse().unwrap();
            assert_eq!(from_mapped_bytes(to_mapped_bytes(ip)), ip);
        }
    }

    #[test]
    fn times_and_rates() {
        assert_eq!(ticks(Duration::from_secs(30)), 112);
        assert_eq!(ticks(Duration::ZERO), 1);
        assert_eq!((cost_ns(None), cost_ns(Some(1_000))), (0, 1_000_000));
        assert_eq!(byte_cost_ns(Some(8_192)), 1_000_000_000);
    }
}
