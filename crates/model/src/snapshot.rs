//! The state snapshot that workers act on: immutable views of the active services and pools.
//!
//! The reconciler creates a new snapshot for each change or verdict; unchanged parts are shared. Live counters are held
//! by reference, so that they outlive every snapshot. `load_balancing` makes decisions.

pub mod rule_state;

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::affinity;
use crate::affinity::cookie::AffinitySecrets;
use crate::config::{
    NetworkSet, PoolConfig, ServerConfig, ServerEndpoint, ServerWeight, ServiceConfig,
};
use crate::error_pages::ErrorPages;
use crate::id::{PoolId, ServerId, ServiceId};
use crate::rules::edits::EditTable;
use crate::rules::service_rules::ServiceRules;
use crate::slo::network_table::SloTable;
use crate::stats::pool::PoolStats;
use crate::stats::{ServerStats, ServiceStats};

/// Everything a worker needs to serve.
#[derive(Clone, Debug, Default)]
pub struct WorkerSnapshot {
    pub generation: u64,
    /// Number of the snapshot, including those for verdicts.
    pub version: u64,
    pub services: HashMap<ServiceId, Arc<ServiceView>>,
    /// Pools by id, including the pool of each service.
    pub pools: HashMap<PoolId, Arc<PoolView>>,
    /// Responses to the challenges of certificate authorities (ACME); `None`: no challenge is pending.
    pub acme_proofs: Option<Arc<AcmeProofs>>,
    /// Secrets of the tokens in affinity cookies.
    pub cookie_secrets: Arc<AffinitySecrets>,
    /// The objects of authentication; `None`: the configuration has none.
    pub auth: Option<OpaqueMaterial>,
    /// The pools that the objects of authentication name.
    pub auth_pools: BTreeMap<String, PoolId>,
}

/// Responses for `/.well-known/acme-challenge/TOKEN` (RFC 8555 §8.3), by token.
pub type AcmeProofs = BTreeMap<Vec<u8>, String>;

#[derive(Debug)]
pub struct ServiceView {
    pub id: ServiceId,
    pub config: Arc<ServiceConfig>,
    pub pool: PoolId,
    /// TLS material; set if the configuration has TLS.
    pub tls: Option<OpaqueMaterial>,
    /// Own pages for errors; `None`: the configuration has none.
    pub error_pages: Option<Arc<ErrorPages>>,
    /// Networks of trusted proxies from files; `None`: the configuration names no file.
    pub file_networks: Option<Arc<NetworkSet>>,
    pub stats: Arc<ServiceStats>,
    /// The rules; `None`: no rules.
    pub rules: Option<Arc<ServiceRules>>,
    /// The edits; `None`: no edits.
    pub edits: Option<Arc<EditTable>>,
    /// The table of sticky clients; `None`: no affinity.
    pub affinity: Option<Arc<affinity::AffinityTable>>,
    /// SLO counters; `None`: no objective is configured.
    pub slo: Option<Arc<SloTable>>,
}

impl ServiceView {
    /// Whether a proxy at this address is trusted to name its client.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.config.trust.networks.contains(address)
            || self.file_networks.as_ref().is_some_and(|networks| networks.contains(address))
    }
}

#[derive(Clone, Debug)]
pub struct PoolView {
    pub id: PoolId,
    pub config: Arc<PoolConfig>,
    /// TLS material; set if the configuration has TLS.
    pub tls: Option<OpaqueMaterial>,
    pub stats: Arc<PoolStats>,
    /// The servers in the order of the configuration.
    pub servers: Vec<ServerView>,
}

/// Material that only the plane that created it can read: prepared keys and certificates.
#[derive(Clone)]
pub struct OpaqueMaterial(Arc<dyn Any + Send + Sync>);

impl OpaqueMaterial {
    pub fn new<T: Any + Send + Sync>(material: Arc<T>) -> OpaqueMaterial {
        OpaqueMaterial(material)
    }

    /// The material as its type; `None`: it has another type.
    pub fn downcast<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// Whether both are the same allocation.
    pub fn is_same(&self, other: &OpaqueMaterial) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl PartialEq for OpaqueMaterial {
    fn eq(&self, other: &OpaqueMaterial) -> bool {
        self.is_same(other)
    }
}

impl fmt::Debug for OpaqueMaterial {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Material")
    }
}

#[derive(Clone, Debug)]
pub struct ServerView {
    pub id: ServerId,
    pub config: Arc<ServerConfig>,
    /// Where it is; `None` while the name does not resolve.
    pub address: Option<ServerEndpoint>,
    pub state: ServerState,
    /// The effective weight (an operator or the weight controller may override the configured one).
    pub weight: ServerWeight,
    /// While the server drains: whether its sticky clients may still use it in any case, or as long as their service's
    /// `sticky.drain` allows.
    pub keeps_sticky_clients: bool,
    pub stats: Arc<ServerStats>,
}

impl ServerView {
    /// The IP address and port; `None`: a name that does not resolve, or a Unix socket.
    pub fn socket_address(&self) -> Option<SocketAddr> {
        self.address.as_ref().and_then(ServerEndpoint::socket_address)
    }

    /// Whether the server gets work, or would if no server of its pool were up.
    pub fn takes_work(&self) -> bool {
        matches!(self.state, ServerState::Up | ServerState::Unknown) && self.weight.get() > 0
    }
}

/// The state of a server for load balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerState {
    Up,
    /// Gets no work because of its health verdict.
    Down,
    /// No evidence yet: gets work only while nothing is up.
    Unknown,
    /// Finishes its work and gets no more.
    Drain,
    Disabled,
}

impl ServerState {
    /// As written in status, metrics and the API.
    pub const fn name(self) -> &'static str {
        match self {
            ServerState::Up => "up",
            ServerState::Down => "down",
            ServerState::Unknown => "unknown",
            ServerState::Drain => "drain",
            ServerState::Disabled => "disabled",
        }
    }
}
