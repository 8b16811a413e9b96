//! Who begins the connections of a SYN flood: the most frequent addresses and networks of sampled SYNs, by service. Pure.
//!
//! Memory is bounded by the Space-Saving algorithm (Metwally et al., 2005): a new item replaces the least frequent one,
//! and takes over its count as its possible error. It limits nobody.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::IpAddr;

use model::config::IpPrefix;

/// Addresses, and networks, that are counted for one service.
/// Whoever sends more than one 256th of the SYNs is certainly among them.
const ITEMS: usize = 256;
/// Services whose clients are counted at one time.
/// The datapath reports 120 SYNs a second over all services; memory stays below 2 MiB.
const SERVICES: usize = 64;
/// Sweeps after which counts are halved, so that a flood is described by its last seconds.
const HALF_LIFE_SWEEPS: u32 = 10;
/// The largest addresses that are named.
const NAMED_ADDRESSES: usize = 5;
/// The largest networks that are named.
const NAMED_NETWORKS: usize = 3;
/// A client is named from this share of the sampled SYNs on: one in so many.
const LEAST_SHARE: u32 = 20;
/// Bits of the networks.
const NETWORK_BITS_V4: u8 = 24;
/// A single machine commonly has all addresses of a /64.
const NETWORK_BITS_V6: u8 = 64;

/// An address or a network that floods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloodSource {
    /// `203.0.113.7`, or a network such as `203.0.113.0/24`.
    pub source: String,
    /// Its sampled SYNs, at least.
    pub count: u32,
}

/// Who floods a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodSources {
    /// Sampled SYNs of the last seconds.
    pub sampled: u32,
    /// Single addresses, the largest first.
    pub addresses: Vec<FloodSource>,
    /// Those with more than one of their addresses, the largest first.
    pub networks: Vec<FloodSource>,
}

impl FloodSources {
    /// As a clause of an alarm; `None` without samples.
    pub fn describe(&self) -> Option<String> {
        let sampled = self.sampled;
        if sampled == 0 {
            return None;
        }
        let named = self.addresses.iter().chain(&self.networks);
        let parts: Vec<String> =
            named.map(|one| format!("{} of them from {}", one.count, one.source)).collect();
        Some(match parts.is_empty() {
            true => format!(
                "{sampled} SYN were sampled, and no address or network sent a {LEAST_SHARE}th of them: the addresses may be forged"
            ),
            false => format!("{sampled} SYN were sampled: {}", parts.join(", ")),
        })
    }

    /// The form for programs: `203.0.113.7=41,203.0.113.9=7`.
    pub fn list(sources: &[FloodSource]) -> String {
        let parts: Vec<String> =
            sources.iter().map(|one| format!("{}={}", one.source, one.count)).collect();
        parts.join(",")
    }
}

#[derive(Debug, Default)]
pub struct HalfOpenClients {
    services: BTreeMap<String, SampledClients>,
    sweeps: u32,
}

#[derive(Debug, Default)]
struct SampledClients {
    sampled: u32,
    addresses: FrequentItems<IpAddr>,
    networks: FrequentItems<IpPrefix>,
}

impl HalfOpenClients {
    /// A SYN of this client was sampled.
    pub fn count_syn(&mut self, service: &str, client: IpAddr) {
        if !self.services.contains_key(service) {
            if self.services.len() == SERVICES {
                return;
            }
            self.services.insert(service.to_owned(), SampledClients::default());
        }
        let Some(clients) = self.services.get_mut(service) else { return };
        clients.sampled = clients.sampled.saturating_add(1);
        clients.addresses.count(client);
        if let Some(network) = network_of(client) {
            clients.networks.count(network);
        }
    }

    /// A sweep is over: old samples lose their weight.
    pub fn age(&mut self) {
        self.sweeps += 1;
        if self.sweeps < HALF_LIFE_SWEEPS {
            return;
        }
        self.sweeps = 0;
        self.services.retain(|_, clients| {
            clients.sampled /= 2;
            clients.addresses.halve();
            clients.networks.halve();
            clients.sampled > 0
        });
    }

    /// Who floods this service.
    pub fn sources(&self, service: &str) -> FloodSources {
        let Some(clients) = self.services.get(service) else { return FloodSources::default() };
        let least = clients.sampled.div_ceil(LEAST_SHARE).max(1);
        let addresses = clients.addresses.top(least, NAMED_ADDRESSES);
        // A network with one address says nothing beyond the address.
        let has_more = |network: &FrequentItem<IpPrefix>| {
            let inside = addresses.iter().filter(|one| network.key.contains(one.key));
            inside.map(|one| one.count).max().is_none_or(|most| network.count > most)
        };
        let networks = clients.networks.top(least, ITEMS).into_iter().filter(has_more);
        FloodSources {
            sampled: clients.sampled,
            networks: networks.take(NAMED_NETWORKS).map(flood_source).collect(),
            addresses: addresses.into_iter().map(flood_source).collect(),
        }
    }
}

fn network_of(client: IpAddr) -> Option<IpPrefix> {
    IpPrefix::new(client, if client.is_ipv4() { NETWORK_BITS_V4 } else { NETWORK_BITS_V6 })
}

fn flood_source<K: Display>(item: FrequentItem<K>) -> FloodSource {
    FloodSource { source: item.key.to_string(), count: item.count }
}

/// The most frequent items of a stream, in bounded memory.
#[derive(Debug)]
struct FrequentItems<K> {
    items: BTreeMap<K, ItemCount>,
}

#[derive(Clone, Copy, Debug)]
struct ItemCount {
    count: u32,
    /// How many of them may be of items that it replaced.
    error: u32,
}

/// An item with the number of times that it came at least.
#[derive(Clone, Copy, Debug)]
struct FrequentItem<K> {
    key: K,
    count: u32,
}

impl<K> Default for FrequentItems<K> {
    fn default() -> FrequentItems<K> {
        FrequentItems { items: BTreeMap::new() }
    }
}

impl<K: Copy + Ord> FrequentItems<K> {
    fn count(&mut self, key: K) {
        if let Some(found) = self.items.get_mut(&key) {
            found.count = found.count.saturating_add(1);
            return;
        }
        let mut fresh = ItemCount { count: 1, error: 0 };
        if self.items.len() == ITEMS
            && let Some(least) =
                self.items.iter().min_by_key(|item| item.1.count).map(|item| *item.0)
            && let Some(replaced) = self.items.remove(&least)
        {
            fresh = ItemCount { count: replaced.count.saturating_add(1), error: replaced.count };
        }
        self.items.insert(key, fresh);
    }

    fn halve(&mut self) {
        self.items.retain(|_, item| {
            item.count /= 2;
            item.error /= 2;
            item.count > 0
        });
    }

    /// Items that came so often at least, the most frequent first.
    fn top(&self, least: u32, most: usize) -> Vec<FrequentItem<K>> {
        let certain = self.items.iter().map(|(key, item)| FrequentItem {
            key: *key,
            count: item.count.saturating_sub(item.error),
        });
        let mut all: Vec<FrequentItem<K>> = certain.filter(|item| item.count >= least).collect();
        all.sort_by(|one, other| other.count.cmp(&one.count).then(one.key.cmp(&other.key)));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(clients: &[(&str, u32)]) -> HalfOpenClients {
        let mut all = HalfOpenClients::default();
        for (client, times) in clients {
            (0..*times).for_each(|_| all.count_syn("shop", client.parse().unwrap()));
        }
        all
    }

    #[test]
    fn addresses_and_networks_are_named_with_their_counts() {
        let all = counted(&[
            ("203.0.113.7", 40),
            ("198.51.100.1", 10),
            ("198.51.100.2", 10),
            ("198.51.100.3", 10),
            ("2001:db8:1::1", 28),
            ("192.0.2.1", 2),
        ]);
        let found = all.sources("shop");
        assert_eq!(
            FloodSources::list(&found.addresses),
            "203.0.113.7=40,2001:db8:1::1=28,198.51.100.1=10,198.51.100.2=10,198.51.100.3=10"
        );
        assert_eq!(FloodSources::list(&found.networks), "198.51.100.0/24=30");
        let text = found.describe().unwrap();
        assert!(text.starts_with("100 SYN were sampled: 40 of them from 203.0.113.7, "), "{text}");
        assert!(text.ends_with("30 of them from 198.51.100.0/24"), "{text}");
        assert_eq!(all.sources("mail").describe(), None);
    }

    #[test]
    fn many_addresses_of_one_network_are_named_by_it() {
        let mut all = HalfOpenClients::default();
        for n in 0..5_000_u32 {
            let host = u128::from(n) << 40 | u128::from(n);
            let address = 0x2001_0db8_0000_0007_0000_0000_0000_0000 | (host & u128::from(u64::MAX));
            all.count_syn("shop", std::net::Ipv6Addr::from_bits(address).into());
        }
        let found = all.sources("shop");
        assert!(found.addresses.is_empty(), "{found:?}");
        assert_eq!(FloodSources::list(&found.networks), "2001:db8:0:7::/64=5000");
    }

    #[test]
    fn forged_addresses_accuse_nobody_and_a_loud_one_among_them_is_found() {
        let mut all = HalfOpenClients::default();
        for n in 0..20_000_u32 {
            // Steps by a prime, so that addresses and networks repeat late.
            let forged = std::net::Ipv4Addr::from_bits(n.wrapping_mul(2_654_435_761));
            all.count_syn("shop", forged.into());
            if n % 5 == 0 {
                all.count_syn("mail", "203.0.113.7".parse().unwrap());
            }
            all.count_syn("mail", forged.into());
        }
        let nobody = all.sources("shop");
        assert!(nobody.addresses.is_empty() && nobody.networks.is_empty(), "{nobody:?}");
        assert!(nobody.describe().unwrap().ends_with("the addresses may be forged"));
        let found = all.sources("mail");
        assert_eq!(found.addresses[0].source, "203.0.113.7");
        assert!(found.addresses[0].count > 3_000 && found.addresses.len() == 1, "{found:?}");
        for clients in all.services.values() {
            assert!(clients.addresses.items.len() <= ITEMS);
            assert!(clients.networks.items.len() <= ITEMS);
        }
    }

    #[test]
    fn services_are_bounded_and_samples_age() {
        let mut all = HalfOpenClients::default();
        for n in 0..SERVICES + 10 {
            all.count_syn(&format!("s{n}"), "192.0.2.1".parse().unwrap());
            all.count_syn(&format!("s{n}"), "192.0.2.1".parse().unwrap());
        }
        assert_eq!(all.services.len(), SERVICES);
        (0..HALF_LIFE_SWEEPS).for_each(|_| all.age());
        assert_eq!(all.sources("s0").sampled, 1);
        (0..HALF_LIFE_SWEEPS).for_each(|_| all.age());
        assert!(all.services.is_empty());
    }
}
