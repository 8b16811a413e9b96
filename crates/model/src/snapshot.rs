//! What workers act on: an immutable picture of the services and pools in force.
//!
//! The reconciler makes a new one for each change or verdict; parts that did not change are shared. Live counters
//! hang on it by reference, so that they outlive every picture. It decides nothing: `load_balancing` does.

pub mod rule_state;

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::affinity;
use crate::affinity::cookie::AffinitySecrets;
use crate::config::{PoolConfig, ServerConfig, ServerWeight, ServiceConfig};
use crate::id::{PoolId, ServerId, ServiceId};
use crate::rules::service_rules::ServiceRules;
use crate::slo::network_table::SloTable;
use crate::stats::pool::PoolStats;
use crate::stats::{ServerStats, ServiceStats};

/// Everything a worker needs to serve.
#[derive(Clone, Debug, Default)]
pub struct WorkerSnapshot {
    pub generation: u64,
    /// Counts every snapshot, verdicts included.
    pub version: u64,
    pub services: HashMap<ServiceId, Arc<ServiceView>>,
    /// Pools by id; each service's pool is here.
    pub pools: HashMap<PoolId, Arc<PoolView>>,
    /// What authorities ask for to see that names are ours; `None`: nothing is asked for now.
    pub acme_proofs: Option<Arc<AcmeProofs>>,
    /// What words of our cookies are made with.
    pub cookie_secrets: Arc<AffinitySecrets>,
}

/// Answers to requests for `/.well-known/acme-challenge/TOKEN` (RFC 8555 §8.3), by token.
pub type AcmeProofs = BTreeMap<Vec<u8>, String>;

/// One service in force.
#[derive(Debug)]
pub struct ServiceView {
    pub id: ServiceId,
    pub config: Arc<ServiceConfig>,
    pub pool: PoolId,
    /// What it speaks TLS with; there when the configuration says so.
    pub tls: Option<OpaqueMaterial>,
    pub stats: Arc<ServiceStats>,
    /// Its rules; `None`: it has none.
    pub rules: Option<Arc<ServiceRules>>,
    /// Which clients belong to which servers; `None`: it remembers none.
    pub affinity: Option<Arc<affinity::AffinityTable>>,
    /// What its users met; `None`: nothing is promised to them.
    pub slo: Option<Arc<SloTable>>,
}

/// One pool in force.
#[derive(Clone, Debug)]
pub struct PoolView {
    pub id: PoolId,
    pub config: Arc<PoolConfig>,
    /// What it speaks TLS with; there when the configuration says so.
    pub tls: Option<OpaqueMaterial>,
    pub stats: Arc<PoolStats>,
    /// Its servers, in the order configured.
    pub servers: Vec<ServerView>,
}

/// Something that a plane was given to work with, which only it can look into: keys and certificates made ready.
#[derive(Clone)]
pub struct OpaqueMaterial(Arc<dyn Any + Send + Sync>);

impl OpaqueMaterial {
    pub fn new<T: Any + Send + Sync>(what: Arc<T>) -> OpaqueMaterial {
        OpaqueMaterial(what)
    }

    /// Looks into it; `None`: it is something else.
    pub fn downcast<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// Whether both are the same.
    pub fn is_same(&self, other: &OpaqueMaterial) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for OpaqueMaterial {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Material")
    }
}

/// One server in force.
#[derive(Clone, Debug)]
pub struct ServerView {
    pub id: ServerId,
    pub config: Arc<ServerConfig>,
    /// Where it is; `None` while its name does not resolve.
    pub address: Option<SocketAddr>,
    pub state: ServerState,
    /// Its weight now (an operator's or the judge's word may differ from the file).
    pub weight: ServerWeight,
    /// While it drains, clients that are kept at it still come; otherwise as long as their service's `sticky.drain` says.
    pub keeps_sticky_clients: bool,
    pub stats: Arc<ServerStats>,
}

impl ServerView {
    /// Whether it takes work, or would if none of its pool were up.
    pub fn takes_work(&self) -> bool {
        matches!(self.state, ServerState::Up | ServerState::Unknown) && self.weight.get() > 0
    }
}

/// What a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerState {
    /// Takes work.
    Up,
    /// Takes none: judged so.
    Down,
    /// No evidence yet: takes work only while nothing is up.
    Unknown,
    /// Finishes what it has.
    Drain,
    /// Takes nothing.
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
