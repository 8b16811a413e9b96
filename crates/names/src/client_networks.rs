//! The region of a client's network, and the network size for which that answer holds.

use std::net::IpAddr;

use model::config::IpPrefix;

/// The networks of clients of all regions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientNetworks(Vec<RegionNetwork>);

/// A network of clients, and the number of its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RegionNetwork {
    network: IpPrefix,
    region: u16,
}

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkMatch {
    /// The client's region; `None`: no region.
    pub region: Option<u16>,
    /// The network that determined the region.
    pub network: Option<IpPrefix>,
    /// Bits of the client's address that the answer depends on: all addresses that share them get the same answer (RFC
    /// 7871 §7.2.1).
    pub scope: u8,
}

impl ClientNetworks {
    /// The networks of all regions.
    pub fn new(regions: impl Iterator<Item = Vec<IpPrefix>>) -> ClientNetworks {
        let numbered = regions.enumerate().flat_map(|(at, networks)| {
            let region = u16::try_from(at).unwrap_or(u16::MAX);
            networks.into_iter().map(move |network| RegionNetwork { network, region })
        });
        ClientNetworks(numbered.collect())
    }

    /// Looks an address up: the longest matching network counts. Every network is compared, because the scope depends
    /// on all.
    pub fn find(&self, address: IpAddr) -> NetworkMatch {
        let address = address.to_canonical();
        let mut found = NetworkMatch { region: None, network: None, scope: 0 };
        for RegionNetwork { network, region } in &self.0 {
            let Some(common) = common_prefix(network.address(), address) else { continue };
            if common >= network.bits() {
                if found.network.is_none_or(|before| before.bits() <= network.bits()) {
                    found.region = Some(*region);
                    found.network = Some(*network);
                }
                found.scope = found.scope.max(network.bits());
            } else {
                // One bit more distinguishes the two.
                found.scope = found.scope.max(common + 1);
            }
        }
        found
    }
}

/// Leading bits that two addresses of one family share.
fn common_prefix(a: IpAddr, b: IpAddr) -> Option<u8> {
    let bits = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => return None,
    };
    u8::try_from(bits).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prefix(text: &str) -> IpPrefix {
        let (address, bits) = text.split_once('/').unwrap();
        IpPrefix::new(address.parse().unwrap(), bits.parse().unwrap()).unwrap()
    }

    #[test]
    fn the_longest_network_counts_and_the_scope_distinguishes_neighbours() {
        let lists =
            [vec![prefix("10.0.0.0/8")], vec![prefix("10.1.0.0/16"), prefix("2001:db8::/32")]];
        let networks = ClientNetworks::new(lists.into_iter());
        let found = |text: &str| {
            let found = networks.find(text.parse().unwrap());
            (found.region, found.scope)
        };
        assert_eq!(found("10.1.2.3"), (Some(1), 16));
        assert_eq!(found("::ffff:10.1.2.3"), (Some(1), 16));
        assert_eq!(found("10.2.0.1"), (Some(0), 15));
        assert_eq!(found("10.128.0.1"), (Some(0), 9));
        assert_eq!(found("192.0.2.1"), (None, 1));
        assert_eq!(found("2001:db8::1"), (Some(1), 32));
        assert_eq!(found("4000::1"), (None, 2));
        assert_eq!(ClientNetworks::default().find("10.0.0.1".parse().unwrap()).scope, 0);
    }

    proptest! {
        /// An answer that a resolver caches for a scope is correct for every client in that scope.
        #[test]
        fn one_scope_has_one_answer(
            networks in proptest::collection::vec((any::<u32>(), 0u8..=32), 0..12),
            address in any::<u32>(),
            other in any::<u32>(),
        ) {
            let lists = networks.iter().map(|(ip, bits)| {
                // Few different prefixes, so that networks lie within each other.
                vec![IpPrefix::new(IpAddr::V4((ip & 0xf0f0_0000).into()), *bits).unwrap()]
            });
            let networks = ClientNetworks::new(lists);
            let found = networks.find(IpAddr::V4(address.into()));
            let mask = u32::MAX.checked_shl(32 - u32::from(found.scope)).unwrap_or(0);
            let neighbour = (address & mask) | (other & !mask);
            let beside = networks.find(IpAddr::V4(neighbour.into()));
            prop_assert_eq!(beside.network.map(|it| it.bits()), found.network.map(|it| it.bits()));
        }
    }
}
