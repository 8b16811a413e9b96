//! The tables of connections with the meaning of their indexes, for replication. Made anew when the plane's maps
//! change; immutable otherwise.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use l4::layout::{IndexedShare, ServerKey};
use l4::plan::MapPlanner;
use l4::replica::{FlowHashSecret, ReplicaTables};
use model::capacity::replication_traffic::shortest_timeout;
use model::config::{Config, ForwardingMode};
use tokio::sync::watch;

use super::order::PlaneCommandSender;

/// The data that replication reads from the packet plane.
#[derive(Clone, Debug)]
pub struct ReplicationSource {
    /// Its tables; `None`: there are none.
    pub tables: watch::Receiver<Option<Arc<ConnectionTables>>>,
    /// For the command to change the hash secret.
    pub commands: PlaneCommandSender,
}

/// A server in the tables.
#[derive(Clone, Debug)]
pub struct TableServer {
    pub index: u32,
    /// The name of its service.
    pub service: Arc<str>,
    pub key: ServerKey,
}

/// The tables at one moment.
#[derive(Clone, Debug)]
pub struct ConnectionTables {
    pub replica: Arc<ReplicaTables>,
    /// The hash secret of connections.
    pub secret: FlowHashSecret,
    pub servers: Vec<TableServer>,
    pub shares: Vec<IndexedShare>,
    /// Services with replicated state, at shared addresses.
    pub services: BTreeMap<Arc<str>, ReplicatedService>,
    /// The shortest timeout of any replicated entry.
    pub shortest: Duration,
}

/// The replicated data of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicatedService {
    pub flows: bool,
    /// Who sticks to its servers.
    pub affinity: bool,
    pub addresses: Vec<IpAddr>,
}

/// Services with replicated state.
pub fn replicated_services(config: &Config) -> BTreeMap<Arc<str>, ReplicatedService> {
    let shared: Vec<IpAddr> = config
        .vrrp
        .values()
        .flat_map(|group| group.floating_addresses().map(|(ip, _)| ip))
        .collect();
    let mut out = BTreeMap::new();
    if config.heartbeats.is_empty() {
        return out;
    }
    for service in config.services.values() {
        let Some(packets) = &service.packets else { continue };
        let proxied = matches!(service.forward, ForwardingMode::Http | ForwardingMode::Tcp);
        let addresses: Vec<IpAddr> = packets.listen.iter().map(|span| span.address).collect();
        let here = addresses.iter().any(|ip| ip.is_unspecified() || shared.contains(ip));
        let told = packets.replicate;
        let flows = told.includes_flows();
        let affinity = told.includes_affinity() && packets.sticky.is_some();
        if here && !proxied && (flows || affinity) {
            out.insert(
                Arc::from(service.name.as_str()),
                ReplicatedService { flows, affinity, addresses },
            );
        }
    }
    out
}

impl ConnectionTables {
    /// Of a plane whose planner is this.
    pub fn new(
        replica: &Arc<ReplicaTables>,
        secret: FlowHashSecret,
        planner: &MapPlanner,
        config: &Config,
    ) -> ConnectionTables {
        let services = replicated_services(config);
        let named = |name: &str| services.get_key_value(name).map(|(name, _)| Arc::clone(name));
        let servers = planner.all_servers();
        let servers = servers.filter_map(|one| {
            Some(TableServer { index: one.index, service: named(one.service)?, key: one.key })
        });
        let times = services.keys().filter_map(|name| {
            Some(shortest_timeout(config.services.get(&**name)?.packets.as_ref()?))
        });
        ConnectionTables {
            replica: Arc::clone(replica),
            secret,
            servers: servers.collect(),
            shares: planner.all_shares().collect(),
            shortest: times.min().unwrap_or(Duration::MAX),
            services,
        }
    }
}
