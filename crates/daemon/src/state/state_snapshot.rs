//! The active state for every reader: the API, the metrics, the probes.
//!
//! A snapshot is immutable and replaced whole. It holds facts only; live counters hang on its worker snapshot.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use model::config::{
    AdminState, CheckedConfig, Config, ScheduleRule, ServerConfig, ServerEndpoint, ServerWeight,
};
use model::id::{ListenerId, PoolId, ServerId, ServiceId};
use model::snapshot::{ServerState, WorkerSnapshot};
use serde::{Deserialize, Serialize};

use crate::state::cert_status::CertificateInfo;
use crate::state::evidence::EvidenceEntry;
use crate::state::origin::ChangeOrigin;

/// The active state of the daemon.
#[derive(Clone, Debug)]
pub struct StateSnapshot {
    /// Number of the active configuration.
    pub generation: u64,
    pub since: SystemTime,
    /// When this process began.
    pub started: SystemTime,
    /// Digest of the configuration's text.
    pub digest: String,
    pub origin: ChangeOrigin,
    /// The text, as applied.
    pub text: Arc<str>,
    /// The file that the text was read from, as messages name it.
    pub file: Arc<str>,
    /// The parsed text, with origins of values and warnings.
    pub checked: Arc<CheckedConfig>,
    /// The configuration itself; objects that did not change are the same allocations as before.
    pub config: Arc<Config>,
    /// The snapshot that workers use.
    pub snapshot: Arc<WorkerSnapshot>,
    /// The certificates of services.
    pub certificates: Arc<CertificatesByService>,
    pub servers: HashMap<ServerId, Arc<ServerFacts>>,
    /// Open listeners by configured address.
    pub listeners: BTreeMap<SocketAddr, ListenerFacts>,
    /// Worker threads: the number of slots in every live counter.
    pub workers: usize,
    /// Settings that need a restart to take effect.
    pub needs_restart: Vec<String>,
    /// No new work is accepted: the process is on its way out.
    pub shutting_down: bool,
    /// Failed attempts to store generations or server commands on disk.
    pub state_failures: u64,
    /// What the last attempt could not store on disk, a sentence each.
    pub unsaved: Vec<String>,
    /// Discovery sources whose last answer was rejected, by pool, with the reason.
    pub sources: BTreeMap<String, String>,
    /// Differences of the file; `None`: there are none.
    pub drift: Option<Arc<api::types::Drift>>,
}

impl StateSnapshot {
    /// A server by the names of its pool and itself.
    pub fn server(&self, pool: &str, name: &str) -> Option<&Arc<ServerFacts>> {
        self.servers.values().find(|facts| facts.pool_name == pool && facts.config.name == name)
    }
}

/// Certificates by the names of their services.
pub type CertificatesByService = BTreeMap<String, Vec<CertificateInfo>>;

/// The state of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    pub id: ServerId,
    pub pool: PoolId,
    pub pool_name: String,
    pub config: Arc<ServerConfig>,
    /// Where it is, or why that is not known.
    pub resolved: ResolvedAddress,
    /// Its health by probes and connections.
    pub health_status: HealthStatus,
    /// Its ejection; `None`: it is not ejected.
    pub ejection: Option<ServerEjection>,
    /// The state that its agent requests; `None`: health alone decides.
    pub agent: Option<AgentRequestedState>,
    /// An operator's commands that differ from the file.
    pub overrides: OperatorOverrides,
    /// The schedule's current rule.
    pub scheduled: Option<ScheduleRule>,
    /// The time until which the schedule admits clients with affinity. `None`: their services decide.
    pub scheduled_affinity_until: Option<SystemTime>,
    /// The time until which clients with affinity may reach the draining server. `None`: their services decide.
    pub affinity_until: Option<SystemTime>,
    pub state: ServerState,
    /// Why, in a sentence.
    pub reason: String,
    /// Since when it has that state.
    pub since: SystemTime,
    /// Its weight by the file or an operator.
    pub weight: ServerWeight,
    /// The share that the weight controller and slow start computed; `None`: the weight applies unchanged.
    pub share: Option<WeightShare>,
}

/// A server's weight as the weight controller and slow start computed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightShare {
    /// The controller's weight; `None`: the pool has none.
    pub controller: Option<u16>,
    /// Percent of its share that slow start lets it have.
    pub slow_start_percent: u16,
    /// The effective weight, on the scale of its pool.
    pub weight: ServerWeight,
}

/// A new share of a server; removed servers are passed over.
#[derive(Clone, Copy, Debug)]
pub struct WeightShareChange {
    pub server: ServerId,
    /// `None`: the configured weight applies.
    pub share: Option<WeightShare>,
}

/// The state that a server's agent requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRequestedState {
    pub state: ServerState,
    /// Why, in a sentence.
    pub reason: String,
}

/// The ejection of a server by outlier detection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEjection {
    /// The arithmetic, in a sentence.
    pub reason: String,
    pub until: SystemTime,
}

/// An ejection or a readmission of a server by outlier detection.
#[derive(Clone, Debug)]
pub struct EjectionChange {
    pub server: ServerId,
    /// `None`: the server is readmitted.
    pub ejection: Option<ServerEjection>,
}

impl ServerFacts {
    /// The effective weight. An operator's weight of 0 is never changed.
    pub fn active_weight(&self) -> ServerWeight {
        self.share.filter(|_| self.weight.get() > 0).map_or(self.weight, |share| share.weight)
    }
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedAddress {
    /// Configured as an address, or its name resolved to it.
    Known(ServerEndpoint),
    /// Its name has not been looked up yet.
    Pending,
    /// Its name does not resolve: why.
    Failed(String),
}

impl ResolvedAddress {
    /// Where connections go, if that is known.
    pub fn endpoint(&self) -> Option<&ServerEndpoint> {
        match self {
            ResolvedAddress::Known(endpoint) => Some(endpoint),
            ResolvedAddress::Pending | ResolvedAddress::Failed(_) => None,
        }
    }

    /// The IP address and port, if known; a Unix socket has none.
    pub fn address(&self) -> Option<SocketAddr> {
        self.endpoint().and_then(ServerEndpoint::socket_address)
    }
}

/// A server's health by probes and connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HealthStatus {
    pub health: HealthState,
    /// The evidence, in a sentence.
    pub reason: String,
    pub since: SystemTime,
    /// Made by evidence rather than by the pool's initial policy.
    pub evidence: bool,
    /// That evidence, part by part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<EvidenceEntry>,
}

/// A judgement of health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthState {
    Up,
    Down,
    Unknown,
}

/// An operator's commands for a server where they differ from the file. A command applies until the file's value for
/// the same setting changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorOverrides {
    /// Of its admin state.
    pub admin: Option<OperatorOverride<AdminState>>,
    pub weight: Option<OperatorOverride<ServerWeight>>,
    /// It takes no new client for a while.
    pub quiesce: Option<QuiescePeriod>,
    /// It is or will be in maintenance.
    pub maintenance: Option<MaintenanceWindow>,
    /// An operator enabled it against the schedule; valid until that window ends.
    pub against_schedule: bool,
}

/// A server takes no new clients; its clients may stay until the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct QuiescePeriod {
    pub until: SystemTime,
    pub by: ChangeOrigin,
    /// When it was ordered.
    pub at: SystemTime,
}

/// A window in which a server takes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MaintenanceWindow {
    pub from: SystemTime,
    /// Until when; `None`: until it is enabled.
    pub until: Option<SystemTime>,
    /// The reason, for operators.
    pub reason: String,
    pub by: ChangeOrigin,
    /// When it was ordered.
    pub at: SystemTime,
}

impl MaintenanceWindow {
    /// Whether the window is open.
    pub fn is_open(&self, now: SystemTime) -> bool {
        self.from <= now && !self.is_over(now)
    }

    /// Whether it has passed.
    pub fn is_over(&self, now: SystemTime) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorOverride<T> {
    pub value: T,
    /// The file's value at that time.
    pub file_value: T,
    pub by: ChangeOrigin,
    pub at: SystemTime,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerFacts {
    pub id: ListenerId,
    pub service: ServiceId,
    pub service_name: String,
    /// Open sockets: one for each worker, or fewer if a process with fewer workers handed them over.
    pub sockets: usize,
}
