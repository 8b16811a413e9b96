//! Keys of internal tables that clients fill: hashed under a key that each process draws anew.
//!
//! An attacker who knew the key could choose values that collide in one shard or entry. Hashes that must be the same in
//! every process, as for the choice of a server, are in `hash`; hashes from here must not leave the process.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use crate::config::IpPrefix;

static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A client by a part of its request, or any other bytes.
#[inline]
pub fn hash_part(bytes: &[u8]) -> u64 {
    let mut hasher = KEY.build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// A client by the network of its address, with prefix lengths for IPv4 and IPv6. An IPv4 address that is mapped into
/// IPv6 counts as the IPv4 address.
#[inline]
pub fn hash_network(client: IpAddr, mask4: u8, mask6: u8) -> u64 {
    let client = client.to_canonical();
    let bits = if client.is_ipv4() { mask4 } else { mask6 };
    let network = IpPrefix::new(client, bits).map_or(client, IpPrefix::address);
    let mut hasher = KEY.build_hasher();
    hasher.write_u8(u8::from(network.is_ipv4()));
    let bytes: Ipv6Addr = match network {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    };
    hasher.write(&bytes.octets());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_a_network_are_one_and_keys_are_not_the_published_ones() {
        let of = |text: &str, mask4, mask6| hash_network(text.parse().unwrap(), mask4, mask6);
        assert_eq!(of("192.0.2.1", 24, 128), of("192.0.2.200", 24, 128));
        assert_ne!(of("192.0.2.1", 32, 128), of("192.0.2.200", 32, 128));
        assert_eq!(of("::ffff:192.0.2.1", 24, 128), of("192.0.2.9", 24, 0));
        assert_eq!(of("2001:db8::1", 32, 64), of("2001:db8::ffff:2:1", 32, 64));
        assert_ne!(of("2001:db8::1", 32, 64), of("2001:db8:0:1::1", 32, 64));
        assert_ne!(of("2001:db8::1", 32, 128), of("2001:db8::2", 32, 128));
        let published = crate::hash::hash_client("192.0.2.1".parse().unwrap());
        assert_ne!(of("192.0.2.1", 32, 128), published);
        assert_ne!(hash_part(b"shop"), crate::hash::hash_part(b"shop"));
        assert_eq!(hash_part(b"shop"), hash_part(b"shop"));
    }
}
