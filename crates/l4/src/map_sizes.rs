//! The sizes of the tables, from the configuration where it defines them, and the memory for them. Pure except for the
//! number of processors.
//!
//! Tables are created once, when nothing is pinned. Their sizes leave room for the configuration to grow.

use std::collections::BTreeSet;

use bpf::{MapEntryCount, MapValue};
use model::config::{
    BalancePolicy, Config, ForwardingMode, PacketServiceConfig, PoolConfig, ServiceConfig,
};

use crate::abi::{
    self, Announced, Bucket, Fragment, Gauge, Hand, NextHop, Owners, Record, Rule, Server,
    ServerCount, ServiceCount, Share, Source, SourceUse, Used,
};
use crate::plan::schedule::{TURNS, level_length};

/// Slots of a flow table for each connection of `mac` and `tunnel`. Half of them stay free, so that buckets are rarely
/// full.
const FLOW_SLOTS: u32 = 2;
/// Slots for each `nat` connection. Those connections are never evicted, so there is more room.
/// A quarter full; an insertion that fails would refuse a connection.
const RECORD_SLOTS: u32 = 4;

/// Bytes of a bucket's entry, and of its owner note.
const SLOT: u64 = (Bucket::SIZE / abi::WAYS_IN_BUCKET as usize) as u64;
const OWNER: u64 = (Owners::SIZE / abi::WAYS_IN_BUCKET as usize) as u64;

/// Bytes of what both ends of a `nat` connection announced.
const SEGMENTS: u64 = (Announced::SIZE / 2) as u64;

/// Bytes of a `mac` or `tunnel` connection, before the tables are rounded up to powers of two.
pub const FLOW_BYTES: u64 = FLOW_SLOTS as u64 * (SLOT + OWNER);
/// Bytes of a `nat` connection, before the tables are rounded up.
pub const RECORD_BYTES: u64 = Record::SIZE as u64 + OWNER + SEGMENTS + RECORD_SLOTS as u64 * SLOT;

/// How many connections and clients the tables hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSizes {
    /// Connections of `mac` and `tunnel`, `FLOW_BYTES` each; beyond that the connection that expires first is evicted.
    pub flows: u32,
    /// Translated connections, `RECORD_BYTES` each: the ports of all shares together.
    pub records: u32,
    /// Clients that stick to a server.
    pub sticky: u32,
    /// Packets whose fragments are in flight.
    pub fragments: u32,
    /// Clients whose limits, connections and bans are stored.
    pub sources: u32,
    /// Entries for the configuration.
    pub capacity: ConfigCapacity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigCapacity {
    pub services: u32,
    pub pools: u32,
    /// Servers of services, and next hops.
    pub servers: u32,
    pub schedule: u32,
    /// Pairs of a return address and a server, by protocol.
    pub shares: u32,
    pub rules: u32,
    /// Addresses with their ports.
    pub keys: u32,
}

/// The least and the most of each size.
const LIMITS: (u32, u32) = (16, 1 << 26);
/// The most clients: an owner note has 20 bits for the client's entry.
const SOURCES: u32 = 1 << 18;

/// The least capacity, so that a small configuration can grow without a new plane.
const MIN_CAPACITY: ConfigCapacity = ConfigCapacity {
    services: 1 << 12,
    pools: 1 << 13,
    servers: 1 << 14,
    schedule: 1 << 20,
    shares: 1 << 14,
    rules: 1 << 13,
    keys: 1 << 16,
};
/// The greatest capacity that is planned.
const MAX_CAPACITY: ConfigCapacity = ConfigCapacity {
    services: 1 << 16,
    pools: 1 << 17,
    servers: 1 << 20,
    schedule: 1 << 26,
    shares: 1 << 21,
    rules: 1 << 20,
    keys: 1 << 22,
};

impl Default for ConfigCapacity {
    fn default() -> ConfigCapacity {
        MIN_CAPACITY
    }
}

impl Default for TableSizes {
    fn default() -> TableSizes {
        TableSizes {
            flows: 1 << 18,
            records: 1 << 17,
            sticky: 1 << 14,
            fragments: 1 << 12,
            sources: 1 << 16,
            capacity: ConfigCapacity::default(),
        }
    }
}

/// One map and the bytes of its entries, on all processors.
struct MapSize {
    name: &'static str,
    entries: u32,
    bytes: u64,
}

impl TableSizes {
    pub fn from_config(config: &Config) -> TableSizes {
        let uses = |nat: bool| {
            let mut services = config.services.values();
            services.any(|one| one.packets.is_some() && (one.forward == ForwardingMode::Nat) == nat)
        };
        let base = TableSizes::default();
        let packets = &config.packets;
        TableSizes {
            // A service may change its method later: unused tables get at most the default size.
            flows: if uses(false) { packets.flows } else { packets.flows.min(base.flows) },
            records: if uses(true) { packets.flows } else { packets.flows.min(base.records) },
            fragments: packets.fragments,
            capacity: ConfigCapacity::from_config(config),
            ..base
        }
    }

    /// Bytes of the tables, all allocated at the start. Tables that grow with use come on top: addresses, lists of
    /// networks and the next hops of answers.
    pub fn memory_bytes(&self) -> u64 {
        let maps = self.maps(libbpf_rs::num_possible_cpus().unwrap_or(1) as u64);
        maps.iter().map(|map| u64::from(map.entries) * map.bytes).sum()
    }

    /// Entries of the maps with a variable size, by name.
    pub fn entries(&self) -> Vec<MapEntryCount<'static>> {
        let capacity = |map: &MapSize| MapEntryCount { map: map.name, entries: map.entries };
        self.maps(1).iter().map(capacity).collect()
    }

    fn maps(&self, cpus: u64) -> Vec<MapSize> {
        let flows = bucket_count(self.flows, FLOW_SLOTS);
        let records = self.records.clamp(LIMITS.0, LIMITS.1);
        let sticky = bucket_count(self.sticky, FLOW_SLOTS);
        let sources = self.sources.clamp(LIMITS.0, SOURCES);
        let fragments = self.fragments.clamp(LIMITS.0, LIMITS.1);
        let room = &self.capacity;
        let array = |name, entries, size: usize| MapSize { name, entries, bytes: round_up(size) };
        let counts =
            |name, entries, size: usize| MapSize { name, entries, bytes: round_up(size) * cpus };
        let lru = |name, entries, key: usize, value: usize| MapSize {
            name,
            entries,
            bytes: LRU_ENTRY + round_up(key) + round_up(value),
        };
        let grows = |name, entries| MapSize { name, entries, bytes: HASH_BUCKET };
        vec![
            array("flows", flows, Bucket::SIZE),
            array("flow_owners", flows, Owners::SIZE),
            array("forward", bucket_count(self.records, RECORD_SLOTS), Bucket::SIZE),
            array("records", records, Record::SIZE),
            array("record_owners", records.div_ceil(abi::WAYS_IN_BUCKET), Owners::SIZE),
            array("announced", records.div_ceil(2), Announced::SIZE),
            array("sticky", sticky, Bucket::SIZE),
            array("flows_changed", bitmap_words(flows * abi::WAYS_IN_BUCKET), u64::SIZE),
            array("records_changed", bitmap_words(records), u64::SIZE),
            array("sticky_changed", bitmap_words(sticky * abi::WAYS_IN_BUCKET), u64::SIZE),
            array("per_client", bucket_count(sources, FLOW_SLOTS), Bucket::SIZE),
            lru("fragments", fragments, Fragment::SIZE, abi::Fate::SIZE),
            lru("sources", sources, Source::SIZE, SourceUse::SIZE),
            lru("bans", sources, Source::SIZE, u32::SIZE),
            array("services", room.services, abi::Service::SIZE),
            array("gauges", room.services, Gauge::SIZE),
            array("meters", room.services, Used::SIZE),
            counts("service_counts", room.services, ServiceCount::SIZE),
            array("pools", room.pools, abi::Pool::SIZE),
            array("turns", room.pools, u32::SIZE),
            array("schedule", room.schedule, u32::SIZE),
            array("servers", room.servers, Server::SIZE),
            counts("server_counts", room.servers, ServerCount::SIZE),
            array("next_hops", room.servers, NextHop::SIZE),
            array("paths", room.servers, abi::Path::SIZE),
            array("shares", room.shares, Share::SIZE),
            array("hands", room.shares, Hand::SIZE),
            array("share_list", room.shares.saturating_mul(2), u32::SIZE),
            array("rules", room.rules, Rule::SIZE),
            array("rule_used", room.rules, u64::SIZE),
            array("watched", abi::WATCHED_LIMIT, abi::Watch::SIZE),
            grows("vips4", room.keys),
            grows("vips6", room.keys),
            grows("addresses", room.keys),
            grows("shares4", room.shares.max(room.keys)),
            grows("shares6", room.shares.max(room.keys)),
        ]
    }
}

/// Bytes of an entry in the kernel's LRU tables beside key and value, with its share of the buckets.
const LRU_ENTRY: u64 = 48 + HASH_BUCKET;
/// Bytes of a free entry in the kernel's growing tables.
const HASH_BUCKET: u64 = 16;

/// Bytes of a value as the kernel lays it.
fn round_up(size: usize) -> u64 {
    (size as u64).next_multiple_of(8)
}

/// 64-bit words of a bitmap for this many entries.
fn bitmap_words(entries: u32) -> u32 {
    entries.div_ceil(u64::BITS)
}

/// Buckets of four entries for this many connections with `slots` entries each: a power of two.
fn bucket_count(connections: u32, slots: u32) -> u32 {
    (connections.clamp(LIMITS.0, LIMITS.1) * slots / abi::WAYS_IN_BUCKET).next_power_of_two()
}

impl ConfigCapacity {
    /// Twice what a configuration fills, and at least `ConfigCapacity::default`.
    pub fn from_config(config: &Config) -> ConfigCapacity {
        let mut need = ConfigCapacity {
            services: 1,
            pools: 0,
            servers: 0,
            schedule: 0,
            shares: 0,
            rules: 0,
            keys: 0,
        };
        for service in config.services.values() {
            if let Some(packets) = &service.packets {
                need.add(config, service, packets);
            }
        }
        let fit = |need: u32, least: u32, most: u32| {
            let twice = need.saturating_mul(2).min(most);
            twice.next_power_of_two().clamp(least, most)
        };
        ConfigCapacity {
            services: fit(need.services, MIN_CAPACITY.services, MAX_CAPACITY.services),
            pools: fit(need.pools, MIN_CAPACITY.pools, MAX_CAPACITY.pools),
            servers: fit(need.servers, MIN_CAPACITY.servers, MAX_CAPACITY.servers),
            schedule: fit(need.schedule, MIN_CAPACITY.schedule, MAX_CAPACITY.schedule),
            shares: fit(need.shares, MIN_CAPACITY.shares, MAX_CAPACITY.shares),
            rules: fit(need.rules, MIN_CAPACITY.rules, MAX_CAPACITY.rules),
            keys: fit(need.keys, MIN_CAPACITY.keys, MAX_CAPACITY.keys),
        }
    }

    fn add(&mut self, config: &Config, service: &ServiceConfig, packets: &PacketServiceConfig) {
        let protocols = u32::from(packets.protocols.tcp) + u32::from(packets.protocols.udp);
        let ports = packets.listen.iter().map(|span| u32::from(span.last - span.first) + 1);
        // Longer ranges need one key for all ports.
        let keys = ports.map(|ports| if ports > 64 { 1 } else { ports }).sum::<u32>() * protocols;
        let rules = packets.rules.iter().map(|rule| rule.client.len().max(1)).sum();
        let names: BTreeSet<&str> = std::iter::once(service.pool.as_str())
            .chain(packets.rules.iter().map(|rule| rule.pool.as_str()))
            .collect();
        grow(&mut self.services, 1);
        grow(&mut self.keys, keys as usize);
        grow(&mut self.rules, rules);
        for pool in names.iter().filter_map(|name| config.pools.get(*name)) {
            // With `nat` each family may choose from its own pool.
            let families = if service.forward == ForwardingMode::Nat { 2 } else { 1 };
            grow(&mut self.pools, families);
            grow(&mut self.servers, pool.servers.len());
            grow(&mut self.schedule, families * entries(pool));
            if service.forward == ForwardingMode::Nat {
                let own =
                    if pool.source.is_empty() { &config.packets.returns } else { &pool.source };
                let backs = if pool.source_client { 1 } else { own.len() };
                grow(&mut self.shares, pool.servers.len() * backs * protocols as usize);
            }
        }
    }
}

fn grow(sum: &mut u32, more: usize) {
    *sum = sum.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
}

/// Entries of a pool's schedule; for turns, the most that other weights may need.
fn entries(pool: &PoolConfig) -> usize {
    let servers = pool.servers.len();
    match pool.balance {
        BalancePolicy::Maglev { size } => size as usize,
        BalancePolicy::Source { .. } => crate::plan::schedule::SOURCE_TABLE as usize,
        BalancePolicy::LeastConnections => level_length(servers),
        _ => {
            let weights: usize =
                pool.servers.iter().map(|server| usize::from(server.weight.get())).sum();
            // Room for eight turns a server, so that other weights fit without a new map; `TURNS` bounds every
            // schedule.
            weights.max(8 * servers).min(TURNS as usize) + servers
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_bytes_match_the_tables() {
        let of =
            |flows, records| TableSizes { flows, records, ..TableSizes::default() }.memory_bytes();
        let less = of(1 << 18, 1 << 17);
        // And a bit for each entry that may have changed.
        let bits = u64::from(FLOW_SLOTS) << 18 >> 3;
        assert_eq!(of(1 << 19, 1 << 17) - less, (FLOW_BYTES << 18) + bits);
        assert_eq!(of(1 << 18, 1 << 18) - less, (RECORD_BYTES << 17) + (1 << 17 >> 3));
        assert_eq!((FLOW_BYTES, RECORD_BYTES), (40, 136));
    }

    #[test]
    fn clients_fit_the_notes_of_their_connections() {
        let sizes = TableSizes { sources: u32::MAX, ..TableSizes::default() };
        let entries = sizes.entries();
        let clients = entries.iter().find(|it| it.map == "per_client").unwrap().entries;
        assert!(clients * abi::WAYS_IN_BUCKET < 1 << 20, "{clients}");
    }

    // Rows: I05
    #[test]
    fn room_grows_with_the_configuration() {
        let text = |servers: usize| {
            let list: Vec<String> = (0..servers)
                .map(|at| format!("\"10.{}.{}.{}:80\"", at >> 16, at >> 8 & 255, at & 255))
                .collect();
            format!(
                "[service.s]\nlisten = \"203.0.113.10:80\"\nforward = \"mac\"\npool = \"p\"\n\
                 [pool.p]\nservers = [{}]\n",
                list.join(", ")
            )
        };
        let room = |servers| {
            let checked = model::config::load(&text(servers), "x").unwrap();
            TableSizes::from_config(&checked.config).capacity
        };
        assert_eq!(room(3), ConfigCapacity::default());
        assert_eq!(room(9_000).servers, 1 << 15);
    }
}
