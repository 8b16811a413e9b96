//! What the planner keeps: the maps as they were left, by service, and what is on its way out. Pure data with the
//! questions that others ask of it.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use model::config::Packets;
use model::snapshot::{PoolView, ServiceView};

use super::facts::{Facts, Needs, ShareNeeds};
use super::form::VipKey;
use super::part::Part;
use crate::abi;
use crate::layout::{Capacity, Layout, Region, ServerKey, ShareKey};
use crate::write::Write;

/// How names begin that no service can have.
pub(super) const NAMELESS: char = '\u{0}';

/// The name of a service that has none.
pub(super) fn placeholder(service: u32) -> String {
    format!("{NAMELESS}{service}")
}

/// A server that left.
#[derive(Clone, Debug)]
pub(super) struct Leaving {
    /// Its key.
    pub key: ServerKey,
    /// Its value in the map.
    pub server: abi::Server,
    /// Shares that its flows may use.
    pub shares: Vec<ShareKey>,
    /// Its list of them.
    pub list: Region,
    /// Sweeps in a row that saw no flow.
    pub quiet: u8,
}

/// What a change comes to.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Writes in the order in which they are safe.
    pub writes: Vec<Write>,
    /// Services that are not forwarded, and why.
    pub obstacles: BTreeMap<String, String>,
}

/// A service in force, with what it was made from.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) part: Part,
    pub(super) view: Arc<ServiceView>,
    pub(super) pools: Vec<Arc<PoolView>>,
    pub(super) minute: u16,
}

/// The state of the maps as they were left, and how to change it.
#[derive(Debug)]
pub struct Planner {
    pub(super) layout: Layout,
    pub(super) standing: BTreeMap<String, Standing>,
    pub(super) vips: BTreeMap<VipKey, abi::Vip>,
    pub(super) addresses: BTreeMap<IpAddr, u32>,
    pub(super) flags: Option<u32>,
    pub(super) leaving: BTreeMap<u32, Leaving>,
    pub(super) share_needs: ShareNeeds,
    pub(super) way_needs: Needs<IpAddr>,
    /// Shares that lost their last need in the change under way.
    pub(super) ending: Vec<ShareKey>,
    /// Since `ways` was asked last.
    pub(super) ways_changed: bool,
    /// Connections under way at the last sweep, by index of server.
    pub(super) flows: HashMap<u32, u32>,
    pub(super) facts: Facts,
    pub(super) plane: Option<Packets>,
    /// Given back with the next change: until this one is carried out the maps still point there.
    pub(super) freed: Freed,
    /// Pools and rules found in the maps, until the first change.
    pub(super) recovered: Option<Recovered>,
}

/// What was found in the maps; nothing of it stands for sure.
#[derive(Debug, Default)]
pub(super) struct Recovered {
    pub(super) pools: Vec<u32>,
    pub(super) schedule: Vec<Region>,
    pub(super) rules: Vec<Region>,
}

/// Regions and indexes that the change under way gives up.
#[derive(Debug, Default)]
pub(super) struct Freed {
    pub(super) schedule: Vec<Region>,
    pub(super) lists: Vec<Region>,
    pub(super) rules: Vec<Region>,
    pub(super) records: Vec<Region>,
    pub(super) pools: Vec<u32>,
    pub(super) shares: Vec<u32>,
}

impl Planner {
    /// For maps in which nothing stands.
    pub fn new(capacity: &Capacity) -> Planner {
        Planner {
            layout: Layout::new(capacity),
            standing: BTreeMap::new(),
            vips: BTreeMap::new(),
            addresses: BTreeMap::new(),
            flags: None,
            leaving: BTreeMap::new(),
            share_needs: ShareNeeds::default(),
            way_needs: Needs::default(),
            ending: Vec::new(),
            ways_changed: true,
            flows: HashMap::new(),
            facts: Facts::default(),
            plane: None,
            freed: Freed::default(),
            recovered: None,
        }
    }

    /// Addresses of servers to which a way is needed, with its index; `None` when they are those of the last call.
    pub fn new_ways(&mut self) -> Option<Vec<(IpAddr, u32)>> {
        std::mem::take(&mut self.ways_changed).then(|| self.ways())
    }

    fn ways(&self) -> Vec<(IpAddr, u32)> {
        let needed = self.way_needs.keys();
        needed.filter_map(|ip| Some((ip, self.layout.ways.find(&ip)?))).collect()
    }

    /// Index of a service that is in force.
    pub fn service(&self, name: &str) -> Option<u32> {
        self.standing.get(name).map(|standing| standing.part.index)
    }

    /// Index of a server of a service in force.
    pub fn server(&self, service: &str, address: std::net::SocketAddr) -> Option<u32> {
        let part = &self.standing.get(service)?.part;
        let find = |port| {
            let key = ServerKey { service: part.index, address: address.ip(), port };
            self.layout.servers.find(&key).filter(|index| part.servers.contains_key(index))
        };
        find(address.port()).or_else(|| find(0))
    }

    /// Servers that left and whose index something may still point at.
    pub fn leaving(&self) -> Vec<u32> {
        self.leaving.keys().copied().collect()
    }

    /// Every server in the maps that belongs to a service in force: its index, the service's name and its key.
    pub fn all_servers(&self) -> impl Iterator<Item = (u32, &str, ServerKey)> {
        let names: HashMap<u32, &str> =
            self.standing.iter().map(|(name, one)| (one.part.index, name.as_str())).collect();
        let standing = self
            .standing
            .values()
            .flat_map(|one| one.part.servers.iter().map(|(index, (key, _))| (*index, *key)));
        let leaving = self.leaving.iter().map(|(index, one)| (*index, one.key));
        let all = standing.chain(leaving);
        all.filter_map(move |(index, key)| Some((index, *names.get(&key.service)?, key)))
    }

    /// Every share in the maps, with its index and its records.
    pub fn all_shares(&self) -> impl Iterator<Item = (ShareKey, u32, Region)> {
        let shares = self.layout.shares.iter();
        shares.filter_map(|(key, index)| Some((*key, index, *self.layout.records.get(key)?)))
    }

    /// Shares of a server of a service in force, with their indexes and how many ports each has.
    pub fn shares_of(&self, service: &str, server: u32) -> Vec<(ShareKey, u32, u32)> {
        let keys = self.standing.get(service).and_then(|one| one.part.shares.get(&server));
        let at = |key: &ShareKey| {
            let ports = self.layout.records.get(key)?.length;
            Some((*key, self.layout.shares.find(key)?, ports))
        };
        keys.into_iter().flatten().filter_map(at).collect()
    }

    /// The service of every server in the maps, by the server's index.
    pub fn owners(&self) -> HashMap<u32, u32> {
        let standing = self
            .standing
            .values()
            .flat_map(|one| one.part.servers.keys().map(|server| (*server, one.part.index)));
        let leaving = self.leaving.iter().map(|(index, one)| (*index, one.server.service));
        standing.chain(leaving).collect()
    }
}
