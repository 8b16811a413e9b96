//! Carries writes out, many at a time, and reads back what stands in the maps. It decides nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;

use bpf::{Table, TableError, Value};

use crate::abi;
use crate::layout::{Capacity, Region, ShareKey};
use crate::plan::form::{VipKey, from_address};
use crate::plan::recover::Found;
use crate::plane::Plane;
use crate::write::Write;

/// Entries of one call to the kernel.
const BATCH: usize = 4_096;

/// Entries waiting for one call.
struct Batch<'a, K, V> {
    table: &'a Table<K, V>,
    entries: Vec<(K, V)>,
}

impl<'a, K: Value, V: Value> Batch<'a, K, V> {
    fn new(table: &'a Table<K, V>) -> Batch<'a, K, V> {
        Batch { table, entries: Vec::new() }
    }

    fn add(&mut self, key: K, value: V) -> Result<(), TableError> {
        self.entries.push((key, value));
        if self.entries.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), TableError> {
        let entries = std::mem::take(&mut self.entries);
        match entries.as_slice() {
            [(key, value)] => self.table.set(key, value),
            many => self.table.set_all(many),
        }
    }
}

/// All batches, in the order of `Write`.
struct Batches<'a> {
    plane: &'a Plane,
    ways: Batch<'a, u32, abi::Way>,
    shares: Batch<'a, u32, abi::Share>,
    share_list: Batch<'a, u32, u32>,
    servers: Batch<'a, u32, abi::Server>,
    schedule: Batch<'a, u32, u32>,
    pools: Batch<'a, u32, abi::Pool>,
    rules: Batch<'a, u32, abi::Rule>,
    services: Batch<'a, u32, abi::Service>,
}

impl<'a> Batches<'a> {
    fn new(plane: &'a Plane) -> Batches<'a> {
        Batches {
            plane,
            ways: Batch::new(&plane.ways),
            shares: Batch::new(&plane.shares),
            share_list: Batch::new(&plane.share_list),
            servers: Batch::new(&plane.servers),
            schedule: Batch::new(&plane.schedule),
            pools: Batch::new(&plane.pools),
            rules: Batch::new(&plane.rules),
            services: Batch::new(&plane.services),
        }
    }

    /// In the order in which entries refer to each other.
    fn flush(&mut self) -> Result<(), TableError> {
        self.ways.flush()?;
        self.shares.flush()?;
        self.share_list.flush()?;
        self.servers.flush()?;
        self.schedule.flush()?;
        self.pools.flush()?;
        self.rules.flush()?;
        self.services.flush()
    }

    fn write(&mut self, write: &Write) -> Result<(), TableError> {
        match write {
            Write::Way(at, way) => self.ways.add(*at, *way),
            Write::Share(at, share) => self.shares.add(*at, *share),
            Write::ShareList(at, list) => many(&mut self.share_list, *at, list),
            Write::Server(at, server) => self.servers.add(*at, *server),
            Write::Schedule(at, list) => many(&mut self.schedule, *at, list),
            Write::Pool(at, pool) => self.pools.add(*at, *pool),
            Write::Rules(at, list) => many(&mut self.rules, *at, list),
            Write::Service(at, service) => self.services.add(*at, *service),
            other => {
                self.flush()?;
                self.single(other)
            }
        }
    }

    fn single(&self, write: &Write) -> Result<(), TableError> {
        let plane = self.plane;
        match write {
            Write::Share4(key, at) => plane.shares4.set(key, at),
            Write::Share6(key, at) => plane.shares6.set(key, at),
            Write::Guard(key, value) => plane.guards.set(key, value),
            Write::Vip4(key, vip) => plane.vips4.set(key, vip),
            Write::Vip6(key, vip) => plane.vips6.set(key, vip),
            Write::Flags(flags) | Write::Expect(flags) => {
                let mut config = plane.config.get(&0)?.unwrap_or_default();
                config.flags = *flags;
                plane.config.set(&0, &config)
            }
            Write::Address(key, kinds) => plane.addresses.set(key, kinds),
            Write::DropAddress(key) => plane.addresses.remove(key).map(drop),
            Write::DropVip4(key) => plane.vips4.remove(key).map(drop),
            Write::DropVip6(key) => plane.vips6.remove(key).map(drop),
            Write::DropGuard(key) => plane.guards.remove(key).map(drop),
            Write::DropShare4(key) => plane.shares4.remove(key).map(drop),
            Write::DropShare6(key) => plane.shares6.remove(key).map(drop),
            Write::DropServer(at) => {
                plane.servers.set(at, &abi::Server::default())?;
                plane.server_counts.set_each_cpu(at, &abi::ServerCount::default())
            }
            Write::DropService(at) => {
                self.forget_clients(*at)?;
                plane.services.set(at, &abi::Service::default())?;
                plane.gauges.set(at, &abi::Gauge::default())?;
                plane.service_counts.set_each_cpu(at, &abi::ServiceCount::default())
            }
            // The rest goes by batches.
            _ => Ok(()),
        }
    }

    /// The next service with this index has other clients: no ban and no used limit may be found there.
    fn forget_clients(&self, service: u32) -> Result<(), TableError> {
        for (key, _) in self.plane.bans.all()? {
            if key.service == service {
                self.plane.bans.remove(&key)?;
            }
        }
        for (key, _) in self.plane.sources.all()? {
            if key.service == service {
                self.plane.sources.remove(&key)?;
            }
        }
        self.plane.meters.set(&service, &abi::Used::default())
    }
}

fn many<V: Value + Copy>(
    batch: &mut Batch<'_, u32, V>,
    first: u32,
    list: &[V],
) -> Result<(), TableError> {
    (first..).zip(list).try_for_each(|(at, value)| batch.add(at, *value))
}

/// Carries writes out in their order.
///
/// # Errors
/// A map refused one; those before are carried out.
pub fn apply(plane: &Plane, writes: &[Write]) -> Result<(), TableError> {
    let mut batches = Batches::new(plane);
    writes.iter().try_for_each(|write| batches.write(write))?;
    batches.flush()
}

/// Entries of the maps.
pub fn capacity(plane: &Plane) -> Capacity {
    Capacity {
        services: plane.services.capacity(),
        pools: plane.pools.capacity(),
        servers: plane.servers.capacity(),
        ways: plane.ways.capacity(),
        shares: plane.shares.capacity(),
        share_list: plane.share_list.capacity(),
        records: plane.records.capacity(),
        schedule: plane.schedule.capacity(),
        rules: plane.rules.capacity(),
    }
}

/// Reads what stands in maps that outlived their process.
///
/// # Errors
/// A map cannot be read.
pub fn found(plane: &Plane) -> Result<Found, TableError> {
    let mut found = Found { vips: vips(plane)?, ..Found::default() };
    let used = u8::try_from(abi::SERVER_SERVES | abi::SERVER_RESETS).unwrap_or_default();
    let lists: BTreeMap<u32, u32> = plane.share_list.all()?.into_iter().collect();
    for (at, server) in plane.servers.all()? {
        if server.flags & used == 0 {
            continue;
        }
        let list = server.share_first..server.share_first.saturating_add(server.share_count);
        let list = list.map(|at| lists.get(&at).copied().unwrap_or(abi::NONE)).collect();
        found.lists.insert(server.share_first, list);
        found.servers.insert(at, server);
    }
    let mut known = HashSet::new();
    for (key, at) in shares(plane)? {
        if known.insert(key)
            && let Some(share) = plane.shares.get(&at)?
        {
            found.shares.push((key, at, share));
        }
    }
    let pools = plane.pools.all()?;
    let pools: BTreeMap<u32, abi::Pool> = pools.into_iter().collect();
    let rules: BTreeMap<u32, abi::Rule> = plane.rules.all()?.into_iter().collect();
    let mut named = BTreeSet::new();
    for (_, service) in plane.services.all()? {
        let region = Region { first: service.rule_first, length: service.rule_count };
        let own = rules.range(region.first..region.first.saturating_add(region.length));
        named.extend(own.map(|(_, rule)| rule.pool).chain([service.pool]));
        if region.length > 0 {
            found.rules.push(region);
        }
    }
    // A pool without servers has its index as long as a service names it.
    let used = |(at, pool): &(u32, abi::Pool)| pool.length > 0 || named.contains(at);
    found.pools = pools.into_iter().filter(used).collect();
    Ok(found)
}

fn vips(plane: &Plane) -> Result<BTreeMap<VipKey, abi::Vip>, TableError> {
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

fn shares(plane: &Plane) -> Result<Vec<(ShareKey, u32)>, TableError> {
    let mut shares = Vec::new();
    let back = |ip: IpAddr| Some(ip).filter(|ip| !ip.is_unspecified());
    for key in plane.shares4.keys() {
        let (server, back) = (IpAddr::from(key.server), back(IpAddr::from(key.back)));
        let at = plane.shares4.get(&key)?;
        let key = ShareKey { server, port: key.port, back, protocol: key.proto };
        shares.extend(at.map(|at| (key, at)));
    }
    for key in plane.shares6.keys() {
        let (server, back) = (IpAddr::from(key.server), back(IpAddr::from(key.back)));
        let at = plane.shares6.get(&key)?;
        let key = ShareKey { server, port: key.port, back, protocol: key.proto };
        shares.extend(at.map(|at| (key, at)));
    }
    Ok(shares)
}

/// Ways that stand in the maps, by the addresses of the servers that use them.
///
/// # Errors
/// A map cannot be read.
pub fn ways(plane: &Plane, found: &Found) -> Result<BTreeMap<IpAddr, abi::Way>, TableError> {
    let mut ways = BTreeMap::new();
    for server in found.servers.values() {
        let way = plane.ways.get(&server.way)?;
        ways.extend(way.map(|way| (from_address(server.addr), way)));
    }
    Ok(ways)
}
