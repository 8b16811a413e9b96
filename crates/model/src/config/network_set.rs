//! A set of networks with fast lookups, suited to the thousand networks of a CDN.
//!
//! It parses no text; the prefixes are already checked.

use std::net::IpAddr;

use serde::Serialize;

use super::ip_prefix::IpPrefix;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkSet {
    prefixes: Vec<IpPrefix>,
    /// Sorted and disjoint ranges.
    v4: Vec<AddressRange>,
    v6: Vec<AddressRange>,
}

/// Addresses of one family from the lowest to the highest, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AddressRange {
    first: u128,
    last: u128,
}

impl NetworkSet {
    pub fn new(prefixes: &[IpPrefix]) -> NetworkSet {
        let of = |v4: bool| {
            let own = prefixes.iter().filter(|prefix| prefix.address().is_ipv4() == v4);
            merge_ranges(own.map(|prefix| address_range(*prefix)).collect())
        };
        NetworkSet { prefixes: prefixes.to_vec(), v4: of(true), v6: of(false) }
    }

    /// Whether one of the networks contains an address; an IPv4-mapped address counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        if self.is_empty() {
            return false;
        }
        let (ranges, number) = match address.to_canonical() {
            IpAddr::V4(v4) => (&self.v4, v4.to_bits().into()),
            IpAddr::V6(v6) => (&self.v6, v6.to_bits()),
        };
        let after = ranges.partition_point(|range| range.first <= number);
        after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|range| number <= range.last)
    }

    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// The networks as written.
    pub fn prefixes(&self) -> &[IpPrefix] {
        &self.prefixes
    }
}

impl Serialize for NetworkSet {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.prefixes.serialize(to)
    }
}

fn address_range(prefix: IpPrefix) -> AddressRange {
    let (first, width) = match prefix.address() {
        IpAddr::V4(v4) => (v4.to_bits().into(), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    let rest = u32::from(width - prefix.bits());
    // A shift by the full width of the type gives `None`: then every bit varies.
    let last = first | !(u128::MAX.checked_shl(rest).unwrap_or(0));
    AddressRange { first, last }
}

fn merge_ranges(mut ranges: Vec<AddressRange>) -> Vec<AddressRange> {
    ranges.sort_by_key(|range| range.first);
    let mut apart: Vec<AddressRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.first <= last.last => last.last = last.last.max(range.last),
            _ => apart.push(range),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix() -> impl Strategy<Value = IpPrefix> {
        // Few bits differ, so that networks overlap and contain addresses.
        let v4 = (any::<u8>(), 0u8..=32).prop_map(|(low, bits)| {
            IpPrefix::new(IpAddr::from([10, 0, low & 3, low]), bits).unwrap()
        });
        let v6 = (any::<u8>(), 0u8..=128).prop_map(|(low, bits)| {
            IpPrefix::new(IpAddr::from([0x2001, 0xdb8, 0, u16::from(low & 3), 0, 0, 0, 1]), bits)
                .unwrap()
        });
        prop_oneof![v4, v6]
    }

    fn address() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            any::<u8>().prop_map(|low| IpAddr::from([10, 0, low & 3, low])),
            any::<[u8; 4]>().prop_map(IpAddr::from),
            any::<u16>().prop_map(|low| IpAddr::from([0x2001, 0xdb8, 0, low & 3, 0, 0, 0, low])),
        ]
    }

    proptest! {
        #[test]
        fn it_contains_what_one_of_its_networks_contains(
            prefixes in prop::collection::vec(prefix(), 0..8),
            addresses in prop::collection::vec(address(), 1..20),
        ) {
            let set = NetworkSet::new(&prefixes);
            for address in addresses {
                let wanted = prefixes.iter().any(|prefix| prefix.contains(address));
                prop_assert_eq!(set.contains(address), wanted, "{} in {:?}", address, prefixes);
            }
        }
    }

    #[test]
    fn whole_families_borders_and_mapped_addresses() {
        let set = |texts: &[(&str, u8)]| {
            let prefix = |(text, bits): &(&str, u8)| IpPrefix::new(text.parse().unwrap(), *bits);
            NetworkSet::new(&texts.iter().filter_map(prefix).collect::<Vec<_>>())
        };
        for (networks, address, wanted) in [
            (&[][..], "10.0.0.1", false),
            (&[("0.0.0.0", 0)], "255.255.255.255", true),
            (&[("0.0.0.0", 0)], "::1", false),
            (&[("::", 0)], "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true),
            (&[("::", 0)], "10.0.0.1", false),
            (&[("10.0.0.0", 8)], "::ffff:10.9.8.7", true),
            (&[("10.0.0.0", 8)], "11.0.0.0", false),
            (&[("10.0.0.0", 8)], "9.255.255.255", false),
            (&[("10.0.0.1", 32)], "10.0.0.1", true),
        ] {
            assert_eq!(set(networks).contains(address.parse().unwrap()), wanted, "{address}");
        }
    }
}
