//! Applies writes in batches, and reads the maps back. This module makes no decisions.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;

use bpf::{MapError, MapValue, TypedMap};

use crate::abi;
use crate::datapath::PacketDatapath;
use crate::layout::{ArrayRegion, MapCapacity, ShareKey};
use crate::map_write::MapWrite;
use crate::plan::encoding::{VipKey, from_mapped_bytes};
use crate::plan::recovery::{RecoveredMaps, RecoveredShare};

/// Entries of one system call: bounds the buffer.
/// One system call is enough for most changes.
const BATCH: usize = 4_096;

/// Entries of the next call.
struct MapBatch<'a, K, V> {
    table: &'a TypedMap<K, V>,
    keys: Vec<K>,
    /// The value of each key.
    values: Vec<V>,
}

impl<'a, K: MapValue, V: MapValue> MapBatch<'a, K, V> {
    fn new(table: &'a TypedMap<K, V>) -> MapBatch<'a, K, V> {
        MapBatch { table, keys: Vec::new(), values: Vec::new() }
    }

    fn add(&mut self, key: K, value: V) -> Result<(), MapError> {
        self.keys.push(key);
        self.values.push(value);
        if self.keys.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), MapError> {
        let keys = std::mem::take(&mut self.keys);
        let values = std::mem::take(&mut self.values);
        match (keys.as_slice(), values.as_slice()) {
            ([key], [value]) => self.table.set(key, value),
            (keys, values) => self.table.set_all(keys, values),
        }
    }
}

/// All batches, in the order of `Write`.
struct WriteBatches<'a> {
    plane: &'a PacketDatapath,
    next_hops: MapBatch<'a, u32, abi::NextHop>,
    shares: MapBatch<'a, u32, abi::Share>,
    share_list: MapBatch<'a, u32, u32>,
    servers: MapBatch<'a, u32, abi::Server>,
    schedule: MapBatch<'a, u32, u32>,
    pools: MapBatch<'a, u32, abi::Pool>,
    rules: MapBatch<'a, u32, abi::Rule>,
    services: MapBatch<'a, u32, abi::Service>,
}

impl<'a> WriteBatches<'a> {
    fn new(plane: &'a PacketDatapath) -> WriteBatches<'a> {
        WriteBatches {
            plane,
            next_hops: MapBatch::new(&plane.next_hops),
            shares: MapBatch::new(&plane.shares),
            share_list: MapBatch::new(&plane.share_list),
            servers: MapBatch::new(&plane.servers),
            schedule: MapBatch::new(&plane.schedule),
            pools: MapBatch::new(&plane.pools),
            rules: MapBatch::new(&plane.rules),
            services: MapBatch::new(&plane.services),
        }
    }

    /// In the order in which entries refer to each other.
    fn flush(&mut self) -> Result<(), MapError> {
        self.next_hops.flush()?;
        self.shares.flush()?;
        self.share_list.flush()?;
        self.servers.flush()?;
        self.schedule.flush()?;
        self.pools.flush()?;
        self.rules.flush()?;
        self.services.flush()
    }

    fn write(&mut self, write: &MapWrite) -> Result<(), MapError> {
        match write {
            MapWrite::NextHop(at, way) => self.next_hops.add(*at, *way),
            MapWrite::Share(at, share) => self.shares.add(*at, *share),
            MapWrite::ShareList(at, list) => add_many(&mut self.share_list, *at, list),
            MapWrite::Server(at, server) => self.servers.add(*at, *server),
            MapWrite::Schedule(at, list) => add_many(&mut self.schedule, *at, list),
            MapWrite::Pool(at, pool) => self.pools.add(*at, *pool),
            MapWrite::Rules(at, list) => add_many(&mut self.rules, *at, list),
            MapWrite::Service(at, service) => self.services.add(*at, *service),
            other => {
                self.flush()?;
                self.write_single(other)
            }
        }
    }

    fn write_single(&self, write: &MapWrite) -> Result<(), MapError> {
        let plane = self.plane;
        match write {
            MapWrite::Share4(key, at) => plane.shares4.set(key, at),
            MapWrite::Share6(key, at) => plane.shares6.set(key, at),
            MapWrite::Guard(key, value) => plane.guards.set(key, value),
            MapWrite::Vip4(key, vip) => plane.vips4.set(key, vip),
            MapWrite::Vip6(key, vip) => plane.vips6.set(key, vip),
            MapWrite::Flags(flags) | MapWrite::Expect(flags) => {
                let mut config = plane.config.get(&0)?.unwrap_or_default();
                config.flags = *flags;
                plane.config.set(&0, &config)
            }
            MapWrite::Address(key, kinds) => plane.addresses.set(key, kinds),
            MapWrite::DropAddress(key) => plane.addresses.remove(key).map(drop),
            MapWrite::DropVip4(key) => plane.vips4.remove(key).map(drop),
            MapWrite::DropVip6(key) => plane.vips6.remove(key).map(drop),
            MapWrite::DropGuard(key) => plane.guards.remove(key).map(drop),
            MapWrite::DropShare4(key) => plane.shares4.remove(key).map(drop),
            MapWrite::DropShare6(key) => plane.shares6.remove(key).map(drop),
            MapWrite::DropServer(at) => {
                plane.servers.set(at, &abi::Server::default())?;
                plane.server_counts.set_each_cpu(at, &abi::ServerCount::default())
            }
            MapWrite::DropService(at) => {
                self.forget_clients(*at)?;
                plane.services.set(at, &abi::Service::default())?;
                plane.gauges.set(at, &abi::Gauge::default())?;
                plane.service_counts.set_each_cpu(at, &abi::ServiceCount::default())
            }
            // The other writes are batched.
            _ => Ok(()),
        }
    }

    /// The next service with this index has other clients: their bans and used limits must not apply.
    fn forget_clients(&self, service: u32) -> Result<(), MapError> {
        for (key, _) in self.plane.bans.entries()? {
            if key.service == service {
                self.plane.bans.remove(&key)?;
            }
        }
        for (key, _) in self.plane.sources.entries()? {
            if key.service == service {
                self.plane.sources.remove(&key)?;
            }
        }
        self.plane.meters.set(&service, &abi::Used::default())
    }
}

fn add_many<V: MapValue + Copy>(
    batch: &mut MapBatch<'_, u32, V>,
    first: u32,
    list: &[V],
) -> Result<(), MapError> {
    (first..).zip(list).try_for_each(|(at, value)| batch.add(at, *value))
}

/// Carries writes out in their order.
///
/// # Errors
/// A map rejected a write. Earlier writes were applied.
pub fn apply(plane: &PacketDatapath, writes: &[MapWrite]) -> Result<(), MapError> {
    let mut batches = WriteBatches::new(plane);
    writes.iter().try_for_each(|write| batches.write(write))?;
    batches.flush()
}

/// Entries of the maps.
pub fn capacity(plane: &PacketDatapath) -> MapCapacity {
    MapCapacity {
        services: plane.services.capacity(),
        pools: plane.pools.capacity(),
        servers: plane.servers.capacity(),
        next_hops: plane.next_hops.capacity(),
        shares: plane.shares.capacity(),
        share_list: plane.share_list.capacity(),
        records: plane.records.capacity(),
        schedule: plane.schedule.capacity(),
        rules: plane.rules.capacity(),
    }
}

/// Reads the maps that an earlier process left.
///
/// # Errors
/// A map cannot be read.
pub fn read_maps(plane: &PacketDatapath) -> Result<RecoveredMaps, MapError> {
    let mut found = RecoveredMaps { vips: read_vips(plane)?, ..RecoveredMaps::default() };
    let used = u8::try_from(abi::SERVER_SERVES | abi::SERVER_RESETS).unwrap_or_default();
    let lists: BTreeMap<u32, u32> = plane.share_list.entries()?.into_iter().collect();
    for (at, server) in plane.servers.entries()? {
        if server.flags & used == 0 {
            continue;
        }
        let list = server.share_first..server.share_first.saturating_add(server.share_count);
        let list = list.map(|at| lists.get(&at).copied().unwrap_or(abi::NONE)).collect();
        found.lists.insert(server.share_first, list);
        found.servers.insert(at, server);
    }
    let mut known = HashSet::new();
    for (key, at) in read_shares(plane)? {
        if known.insert(key)
            && let Some(share) = plane.shares.get(&at)?
        {
            found.shares.push(RecoveredShare { key, index: at, share });
        }
    }
    let pools = plane.pools.entries()?;
    let pools: BTreeMap<u32, abi::Pool> = pools.into_iter().collect();
    let rules: BTreeMap<u32, abi::Rule> = plane.rules.entries()?.into_iter().collect();
    let mut named = BTreeSet::new();
    for (_, service) in plane.services.entries()? {
        let region = ArrayRegion { first: service.rule_first, length: service.rule_count };
        let own = rules.range(region.first..region.first.saturating_add(region.length));
        named.extend(own.map(|(_, rule)| rule.pool).chain([service.pool]));
        if region.length > 0 {
            found.rules.push(region);
        }
    }
    // A pool without servers keeps its index while a service refers to it.
    let used = |(at, pool): &(u32, abi::Pool)| pool.length > 0 || named.contains(at);
    found.pools = pools.into_iter().filter(used).collect();
    Ok(found)
}

fn read_vips(plane: &PacketDatapath) -> Result<BTreeMap<VipKey, abi::Vip>, MapError> {
    let mut vips = BTreeMap::new();
    for key in plane.vips4.keys() {
        let at = VipKey { address: IpAddr::from(key.addr), port: key.port, protocol: key.proto };
        vips.extend(plane.vips4.get(&key)?.map(|vip| (at, vip)));
    }
    for key in plane.vips6.keys() {
        let at = VipKey { address: IpAddr::from(key.addr), port: key.port, protocol: key.proto };
        vips.extend(plane.vips6.get(&key)?.map(|vip| (at, vip)));
    }
    Ok(vips)
}

fn read_shares(plane: &PacketDatapath) -> Result<Vec<(ShareKey, u32)>, MapError> {
    let mut shares = Vec::new();
    let back = |ip: IpAddr| Some(ip).filter(|ip| !ip.is_unspecified());
    for key in plane.shares4.keys() {
        let server = IpAddr::from(key.server);
        let back = back(IpAddr::from(key.back));
        let at = plane.shares4.get(&key)?;
        let key = ShareKey { server, port: key.port, return_address: back, protocol: key.proto };
        shares.extend(at.map(|at| (key, at)));
    }
    for key in plane.shares6.keys() {
        let server = IpAddr::from(key.server);
        let back = back(IpAddr::from(key.back));
        let at = plane.shares6.get(&key)?;
        let key = ShareKey { server, port: key.port, return_address: back, protocol: key.proto };
        shares.extend(at.map(|at| (key, at)));
    }
    Ok(shares)
}

/// The next hops in the maps, by the addresses of their servers.
///
/// # Errors
/// A map cannot be read.
pub fn read_next_hops(
    plane: &PacketDatapath,
    found: &RecoveredMaps,
) -> Result<BTreeMap<IpAddr, abi::NextHop>, MapError> {
    let mut ways = BTreeMap::new();
    for server in found.servers.values() {
        let way = plane.next_hops.get(&server.next_hop)?;
        ways.extend(way.map(|way| (from_mapped_bytes(server.addr), way)));
    }
    Ok(ways)
}
