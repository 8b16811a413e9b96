//! The planner's state: the maps as last written, by service, and the entries that are draining. Pure data with its
//! queries.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use model::config::PacketPlaneConfig;
use model::snapshot::{PoolView, ServiceView};

use super::encoding::VipKey;
use super::facts::{HostFacts, ShareUses, UseCounts};
use super::service_plan::ServicePlan;
use crate::abi;
use crate::layout::{ArrayRegion, IndexedShare, MapCapacity, MapLayout, ServerKey, ShareKey};
use crate::map_write::MapWrite;
use crate::next_hops::NextHopServer;

/// How names begin that no service can have.
pub(super) const NAMELESS: char = '\u{0}';

/// A name for a service without one.
pub(super) fn placeholder_name(service: u32) -> String {
    format!("{NAMELESS}{service}")
}

/// A server that left.
#[derive(Clone, Debug)]
pub(super) struct DrainingServer {
    pub key: ServerKey,
    /// Its value in the map.
    pub server: abi::Server,
    /// Shares that its flows may use.
    pub shares: Vec<ShareKey>,
    /// The list of the server's shares.
    pub share_list: ArrayRegion,
    /// Sweeps in a row that saw no flow.
    pub idle_sweeps: u8,
}

/// A server in the maps.
#[derive(Clone, Copy, Debug)]
pub struct IndexedServer<'a> {
    pub index: u32,
    /// The name of its service.
    pub service: &'a str,
    pub key: ServerKey,
}

/// The result of a change.
#[derive(Clone, Debug, Default)]
pub struct PlannedChange {
    /// Writes in the order in which they are safe.
    pub writes: Vec<MapWrite>,
    /// Services that are not forwarded, and why.
    pub obstacles: BTreeMap<String, String>,
}

/// An active service and its input.
#[derive(Debug)]
pub(super) struct ActiveService {
    pub(super) plan: ServicePlan,
    pub(super) view: Arc<ServiceView>,
    pub(super) pools: Vec<Arc<PoolView>>,
    pub(super) local_minute: i64,
}

/// The state of the maps as they were left, and how to change it.
#[derive(Debug)]
pub struct MapPlanner {
    pub(super) layout: MapLayout,
    pub(super) active: BTreeMap<String, ActiveService>,
    pub(super) vips: BTreeMap<VipKey, abi::Vip>,
    pub(super) addresses: BTreeMap<IpAddr, u32>,
    pub(super) flags: Option<u32>,
    pub(super) draining: BTreeMap<u32, DrainingServer>,
    pub(super) share_uses: ShareUses,
    pub(super) next_hop_uses: UseCounts<IpAddr>,
    /// Shares that lost their last use during this change.
    pub(super) ending_shares: Vec<ShareKey>,
    /// Changed since the last call of `take_next_hops`.
    pub(super) next_hops_changed: bool,
    /// Connections at the last sweep, by server index.
    pub(super) flows: HashMap<u32, u32>,
    pub(super) facts: HostFacts,
    pub(super) plane: Option<PacketPlaneConfig>,
    /// Released with the next change: the maps refer to them until this one is carried out.
    pub(super) freed: FreedEntries,
    /// Pools and rules from recovered maps, until the first change.
    pub(super) recovered: Option<UnclaimedMaps>,
}

/// Contents of recovered maps that nothing has claimed yet.
#[derive(Debug, Default)]
pub(super) struct UnclaimedMaps {
    pub(super) pools: Vec<u32>,
    pub(super) schedule: Vec<ArrayRegion>,
    pub(super) rules: Vec<ArrayRegion>,
}

/// Regions and indexes that this change releases.
#[derive(Debug, Default)]
pub(super) struct FreedEntries {
    pub(super) schedule: Vec<ArrayRegion>,
    pub(super) lists: Vec<ArrayRegion>,
    pub(super) rules: Vec<ArrayRegion>,
    pub(super) records: Vec<ArrayRegion>,
    pub(super) pools: Vec<u32>,
    pub(super) shares: Vec<u32>,
}

impl MapPlanner {
    /// A planner for empty maps.
    pub fn new(capacity: &MapCapacity) -> MapPlanner {
        MapPlanner {
            layout: MapLayout::new(capacity),
            active: BTreeMap::new(),
            vips: BTreeMap::new(),
            addresses: BTreeMap::new(),
            flags: None,
            draining: BTreeMap::new(),
            share_uses: ShareUses::default(),
            next_hop_uses: UseCounts::default(),
            ending_shares: Vec::new(),
            next_hops_changed: true,
            flows: HashMap::new(),
            facts: HostFacts::default(),
            plane: None,
            freed: FreedEntries::default(),
            recovered: None,
        }
    }

    /// The servers that need a next hop. `None` if unchanged since the last call.
    pub fn take_next_hops(&mut self) -> Option<Vec<NextHopServer>> {
        std::mem::take(&mut self.next_hops_changed).then(|| self.next_hops())
    }

    fn next_hops(&self) -> Vec<NextHopServer> {
        let needed = self.next_hop_uses.keys();
        let server =
            |server| Some(NextHopServer { server, index: self.layout.next_hops.find(&server)? });
        needed.filter_map(server).collect()
    }

    pub fn service_index(&self, name: &str) -> Option<u32> {
        self.active.get(name).map(|standing| standing.plan.index)
    }

    pub fn server_index(&self, service: &str, address: std::net::SocketAddr) -> Option<u32> {
        let part = &self.active.get(service)?.plan;
        let find = |port| {
            let key = ServerKey { service: part.index, address: address.ip(), port };
            self.layout.servers.find(&key).filter(|index| part.servers.contains_key(index))
        };
        find(address.port()).or_else(|| find(0))
    }

    /// Draining servers whose index may still be referred to.
    pub fn draining_servers(&self) -> Vec<u32> {
        self.draining.keys().copied().collect()
    }

    /// Every server of an active service.
    pub fn all_servers(&self) -> impl Iterator<Item = IndexedServer<'_>> {
        let names: HashMap<u32, &str> =
            self.active.iter().map(|(name, one)| (one.plan.index, name.as_str())).collect();
        let standing = self
            .active
            .values()
            .flat_map(|one| one.plan.servers.iter().map(|(index, server)| (*index, server.key)));
        let leaving = self.draining.iter().map(|(index, one)| (*index, one.key));
        let all = standing.chain(leaving);
        all.filter_map(move |(index, key)| {
            Some(IndexedServer { index, service: names.get(&key.service)?, key })
        })
    }

    /// Every share in the maps.
    pub fn all_shares(&self) -> impl Iterator<Item = IndexedShare> {
        self.layout.shares.iter().filter_map(|(key, index)| {
            Some(IndexedShare { index, key: *key, region: *self.layout.records.get(key)? })
        })
    }

    /// Shares of a server of an active service.
    pub fn shares_of(&self, service: &str, server: u32) -> Vec<IndexedShare> {
        let keys = self.active.get(service).and_then(|one| one.plan.shares.get(&server));
        let at = |key: &ShareKey| {
            let region = *self.layout.records.get(key)?;
            Some(IndexedShare { index: self.layout.shares.find(key)?, key: *key, region })
        };
        keys.into_iter().flatten().filter_map(at).collect()
    }

    /// The service of every server in the maps, by the server's index.
    pub fn server_services(&self) -> HashMap<u32, u32> {
        let standing = self
            .active
            .values()
            .flat_map(|one| one.plan.servers.keys().map(|server| (*server, one.plan.index)));
        let leaving = self.draining.iter().map(|(index, one)| (*index, one.server.service));
        standing.chain(leaving).collect()
    }
}
