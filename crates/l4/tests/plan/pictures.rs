//! Snapshots from text: unchanged parts are shared with the previous snapshot, as the daemon does.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use l4::layout::MapCapacity;
use l4::map_write::MapWrite;
use l4::plan::facts::HostFacts;
use l4::plan::{MapPlanner, PlannedChange, ReclaimedServers};
use model::config::{CheckedConfig, PoolConfig, ServerHost};
use model::id::{PoolId, ServerId, ServiceId};
use model::snapshot::{PoolView, ServerState, ServerView, ServiceView, WorkerSnapshot};
use model::stats::{ServerStats, ServiceStats};

/// Room for all objects of these tests.
pub const CAPACITY: MapCapacity = MapCapacity {
    services: 16,
    pools: 32,
    servers: 64,
    next_hops: 64,
    shares: 64,
    share_list: 128,
    records: 1 << 20,
    schedule: 1 << 20,
    rules: 64,
};

/// A service in one line: its name, then keys.
pub fn service(name: &str, forward: &str, listen: &str, keys: &str) -> String {
    format!(
        "[service.{name}]\nforward = \"{forward}\"\nlisten = \"{listen}\"\npool = \"{name}\"\n{keys}\n"
    )
}

/// The pool of a service in one line.
pub fn pool(name: &str, servers: &[&str], keys: &str) -> String {
    let list: Vec<String> = servers.iter().map(|server| server_of(server)).collect();
    format!("[pool.{name}]\nservers = [{}]\n{keys}\n", list.join(", "))
}

/// `10.0.0.1:80`, or `10.0.0.1:80*3` with a weight.
fn server_of(text: &str) -> String {
    match text.split_once('*') {
        None => format!("\"{text}\""),
        Some((address, weight)) => format!("{{ address = \"{address}\", weight = {weight} }}"),
    }
}

/// A planner with the snapshots it received.
pub struct PlannerFixture {
    pub planner: MapPlanner,
    pub facts: HostFacts,
    /// States of servers by address; the others are up.
    pub states: HashMap<SocketAddr, ServerState>,
    /// Draining servers that still serve their sticky clients.
    pub sticky_services: HashSet<SocketAddr>,
    services: HashMap<String, Arc<ServiceView>>,
    pools: HashMap<String, Arc<PoolView>>,
}

impl PlannerFixture {
    pub fn new() -> PlannerFixture {
        PlannerFixture::with(MapPlanner::new(&CAPACITY))
    }

    pub fn with(planner: MapPlanner) -> PlannerFixture {
        let local: HashSet<IpAddr> =
            ["10.0.0.254", "10.0.0.253", "fd00::fe"].map(|ip| ip.parse().unwrap()).into();
        let facts = HostFacts { local_addresses: Arc::new(local), ..HostFacts::default() };
        let states = HashMap::new();
        let keeping = HashSet::new();
        PlannerFixture {
            planner,
            facts,
            states,
            sticky_services: keeping,
            services: HashMap::new(),
            pools: HashMap::new(),
        }
    }

    /// The change to a configuration.
    pub fn change(&mut self, text: &str) -> PlannedChange {
        let checked = model::config::load(text, "x").unwrap_or_else(|error| panic!("{error:?}"));
        let snapshot = self.picture(&checked);
        self.planner.plan_change(&snapshot, &checked.config.packets, &self.facts)
    }

    /// The snapshot of a configuration.
    pub fn picture(&mut self, checked: &CheckedConfig) -> WorkerSnapshot {
        let mut snapshot = WorkerSnapshot::default();
        let mut ids = HashMap::new();
        for (at, (name, config)) in (0..).zip(&checked.config.pools) {
            let view = self.pool(PoolId(at), name, config);
            ids.insert(name.clone(), PoolId(at));
            snapshot.pools.insert(PoolId(at), view);
        }
        for (at, (name, config)) in (0..).zip(&checked.config.services) {
            let known = self.services.get(name).filter(|view| {
                *view.config == **config
                    && view.pool == ids[&config.pool]
                    && view.id == ServiceId(at)
            });
            let view = known.cloned().unwrap_or_else(|| {
                Arc::new(ServiceView {
                    id: ServiceId(at),
                    config: Arc::clone(config),
                    pool: ids[&config.pool],
                    tls: None,
                    error_pages: None,
                    file_networks: None,
                    rules: None,
                    edits: None,
                    affinity: None,
                    slo: None,
                    stats: Arc::new(ServiceStats::new(1)),
                })
            });
            self.services.insert(name.clone(), Arc::clone(&view));
            snapshot.services.insert(ServiceId(at), view);
        }
        snapshot
    }

    fn pool(&mut self, id: PoolId, name: &str, config: &Arc<PoolConfig>) -> Arc<PoolView> {
        let servers: Vec<ServerView> =
            config.servers.iter().enumerate().map(|(at, server)| self.server(at, server)).collect();
        let same = |view: &&Arc<PoolView>| {
            let keeps = |one: &ServerView| (one.state, one.keeps_sticky_clients);
            *view.config == **config
                && view.id == id
                && view.servers.iter().map(keeps).eq(servers.iter().map(keeps))
        };
        let known = self.pools.get(name).filter(same).cloned();
        let view = known.unwrap_or_else(|| {
            let live = Arc::new(model::stats::pool::PoolStats::new(1));
            Arc::new(PoolView { id, config: Arc::clone(config), tls: None, stats: live, servers })
        });
        self.pools.insert(name.to_owned(), Arc::clone(&view));
        view
    }

    fn server(&self, at: usize, config: &Arc<model::config::ServerConfig>) -> ServerView {
        let ServerHost::Ip(ip) = config.address.host else { panic!("a name") };
        let address = SocketAddr::new(ip, config.address.port);
        ServerView {
            id: ServerId(at as u32),
            config: Arc::clone(config),
            address: Some(address.into()),
            state: self.states.get(&address).copied().unwrap_or(ServerState::Up),
            weight: config.weight,
            keeps_sticky_clients: self.sticky_services.contains(&address),
            stats: Arc::new(ServerStats::new(1)),
        }
    }

    /// A sweep with these connections by server index, and these new ones by service index.
    pub fn sweep(
        &mut self,
        flows: &[(u32, u32)],
        arrivals: &[(u32, u32)],
    ) -> (Vec<MapWrite>, Vec<u32>) {
        let servers: HashMap<u32, u32> = flows.iter().copied().collect();
        let connections = l4::connection_counts::ConnectionCounts {
            active: servers.clone(),
            servers,
            ..l4::connection_counts::ConnectionCounts::default()
        };
        let ReclaimedServers { change, released } =
            self.planner.reclaim_drained(&connections, &arrivals.iter().copied().collect());
        (change.writes, released)
    }
}
