//! The active state for every reader: the API, the metrics, the probes.
//!
//! A snapshot is immutable and replaced whole. It holds facts only; live counters hang on its worker snapshot.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use model::config::{AdminState, CheckedConfig, Config, ScheduleRule, ServerConfig, ServerWeight};
use model::id::{ListenerId, PoolId, ServerId, ServiceId};
use model::snapshot::{ServerState, WorkerSnapshot};
use serde::{Deserialize, Serialize};

use crate::state::cert_status::CertificateInfo;
use crate::state::evidence::EvidenceEntry;
use crate::state::origin::ChangeOrigin;

/// What is in force.
#[derive(Clone, Debug)]
pub struct StateSnapshot {
    /// Number of the configuration in force.
    pub generation: u64,
    pub since: SystemTime,
    /// When this process began.
    pub started: SystemTime,
    /// Digest of the configuration's text.
    pub digest: String,
    /// Who put it in force.
    pub origin: ChangeOrigin,
    /// The text, as applied.
    pub text: Arc<str>,
    /// The file that the text came from, as messages name it.
    pub file: Arc<str>,
    /// What the text means, with origins of values and warnings.
    pub checked: Arc<CheckedConfig>,
    /// The configuration itself; objects that did not change are the same allocations as before.
    pub config: Arc<Config>,
    /// What the workers act on.
    pub snapshot: Arc<WorkerSnapshot>,
    /// The certificates of services.
    pub certificates: Arc<CertificatesByService>,
    pub servers: HashMap<ServerId, Arc<ServerFacts>>,
    /// Open listeners by configured address.
    pub listeners: BTreeMap<SocketAddr, ListenerFacts>,
    /// Worker threads: the number of slots in every live counter.
    pub workers: usize,
    /// What this process cannot change while it runs although the configuration says so; empty: nothing.
    pub needs_restart: Vec<String>,
    /// No new work is accepted: the process is on its way out.
    pub shutting_down: bool,
    /// Attempts to keep generations or operators' words on disk that failed.
    pub state_failures: u64,
    /// Sources of servers whose last answer was not believed, by pool: why.
    pub sources: BTreeMap<String, String>,
    /// In what the file differs; `None`: in nothing.
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

/// What is known of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    pub id: ServerId,
    pub pool: PoolId,
    pub pool_name: String,
    pub config: Arc<ServerConfig>,
    /// Where it is, or why that is not known.
    pub resolved: ResolvedAddress,
    /// What probes and connections say of it.
    pub health_status: HealthStatus,
    /// It is put out for what it answered; `None`: it is not.
    pub ejection: Option<ServerEjection>,
    /// What its agent wants it to be, and why; `None`: nothing else than health says.
    pub agent: Option<(ServerState, String)>,
    /// What an operator said, where that differs from the file.
    pub overrides: OperatorOverrides,
    /// What the schedule wants of it now.
    pub scheduled: Option<ScheduleRule>,
    /// Until when the schedule lets clients come that are kept at it; `None`: no longer than their services say.
    pub scheduled_affinity_until: Option<SystemTime>,
    /// Until when clients that are kept at it may come although it drains; `None`: no longer than their services say.
    pub affinity_until: Option<SystemTime>,
    /// What all of it comes to.
    pub state: ServerState,
    /// Why, in a sentence.
    pub reason: String,
    /// Since when it has that state.
    pub since: SystemTime,
    /// Its weight, as the file or an operator says.
    pub weight: ServerWeight,
    /// What the weight controller and slow start make of it; `None`: it stands.
    pub share: Option<WeightShare>,
}

/// What the weight controller and slow start make of a server's weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightShare {
    /// The controller's weight; `None`: the pool has none.
    pub controller: Option<u16>,
    /// Percent of its share that slow start lets it have.
    pub slow_start_percent: u16,
    /// The weight in force: on a scale of its pool.
    pub weight: ServerWeight,
}

/// A server that is put out for what it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEjection {
    /// The arithmetic, in a sentence.
    pub reason: String,
    /// When it comes back.
    pub until: SystemTime,
}

impl ServerFacts {
    /// The weight in force. An operator's 0 is nobody else's to change.
    pub fn active_weight(&self) -> ServerWeight {
        self.share.filter(|_| self.weight.get() > 0).map_or(self.weight, |share| share.weight)
    }
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedAddress {
    /// Configured as an address, or its name resolved to it.
    Known(SocketAddr),
    /// Its name has not been asked for yet.
    Pending,
    /// Its name does not resolve: why.
    Failed(String),
}

impl ResolvedAddress {
    /// The address, if known.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            ResolvedAddress::Known(address) => Some(*address),
            ResolvedAddress::Pending | ResolvedAddress::Failed(_) => None,
        }
    }
}

/// What probes and connections say of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HealthStatus {
    /// The judgement.
    pub health: HealthState,
    /// The evidence, in a sentence.
    pub reason: String,
    /// Since when it stands.
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
    /// Takes work.
    Up,
    /// Takes none.
    Down,
    /// No evidence.
    Unknown,
}

/// What an operator said of a server where it differs from the file. A word stands until the file's own word
/// for the same thing changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorOverrides {
    /// Of its admin state.
    pub admin: Option<OperatorOverride<AdminState>>,
    pub weight: Option<OperatorOverride<ServerWeight>>,
    /// It takes no new client for a while.
    pub quiesce: Option<QuiescePeriod>,
    /// It is or will be in maintenance.
    pub maintenance: Option<MaintenanceWindow>,
    /// It was enabled against what the schedule wanted; until that ends.
    pub against_schedule: bool,
}

/// A server takes no new client; those that it has may stay until the limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct QuiescePeriod {
    /// When it drains.
    pub until: SystemTime,
    /// By whom.
    pub by: ChangeOrigin,
    /// When it was ordered.
    pub at: SystemTime,
}

/// A window in which a server takes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MaintenanceWindow {
    /// From when.
    pub from: SystemTime,
    /// Until when; `None`: until it is enabled.
    pub until: Option<SystemTime>,
    /// Why, for those who look.
    pub reason: String,
    /// By whom.
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

/// One word of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorOverride<T> {
    pub value: T,
    /// What the file said then.
    pub file_value: T,
    pub by: ChangeOrigin,
    pub at: SystemTime,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerFacts {
    pub id: ListenerId,
    pub service: ServiceId,
    pub service_name: String,
    /// Open sockets: one a worker, fewer when they came from a process with fewer workers.
    pub sockets: usize,
}
