//! The state of everything, and why: what `steelyard status` shows.
//!
//! No state stands alone: each has a reason and a moment since when. It counts nothing over time: `report` does.

use std::net::SocketAddr;

use model::circuit_breaker::BreakerResource;
use model::config::AdminState;
use model::snapshot::ServerState;
use serde::{Deserialize, Serialize};

use super::alarm::StandingAlarm;
use super::certificate::CertificateStatus;
use super::change::Drift;
use super::error_counts::ErrorCounts;
use super::heartbeat::HeartbeatStatus;
use super::link::BundleStatus;
use super::mptcp::MptcpStatus;
use super::names::NamesStatus;
use super::packets::PacketsStatus;
use super::slo::ObjectiveStatus;
use super::uplink::UplinksStatus;
use super::vrrp::MemberStatus;

/// Answer of `GET /v1/status`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Status {
    /// Version of the daemon.
    pub version: String,
    /// The active generation.
    pub generation: u64,
    /// Time of this answer, from which ages are counted.
    pub now_unix_ms: u64,
    /// Start of the daemon.
    pub since_unix_ms: u64,
    /// Time since the start, milliseconds.
    pub uptime_ms: u64,
    /// Process ID.
    pub pid: u32,
    /// Number of worker threads.
    pub workers: u32,
    /// Current alarms, the most severe first, at most 250.
    #[serde(default)]
    pub alarms: Vec<StandingAlarm>,
    /// Number of further alarms that are not listed.
    #[serde(default)]
    pub more_alarms: u64,
    /// Interval of the error rates, up to now, milliseconds.
    #[serde(default)]
    pub error_interval_ms: u64,
    /// Services by name.
    pub services: Vec<ServiceStatus>,
    /// Pools by name.
    pub pools: Vec<PoolStatus>,
    /// Draining parts of earlier generations.
    pub draining: Vec<Draining>,
    /// Packet services; absent: there are none.
    #[serde(default)]
    pub packets: Option<PacketsStatus>,
    /// Virtual addresses by group.
    #[serde(default)]
    pub vrrp: Vec<MemberStatus>,
    /// Heartbeats with other members.
    #[serde(default)]
    pub heartbeats: Vec<HeartbeatStatus>,
    /// Bundles of links, by name.
    #[serde(default)]
    pub links: Vec<BundleStatus>,
    /// Uplinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplinks: Option<UplinksStatus>,
    /// Multipath TCP, if it is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<MptcpStatus>,
    /// DNS answers; absent: not configured.
    #[serde(default)]
    pub names: Option<NamesStatus>,
    /// Packet planes whose pinned objects end with the process, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub pins: Vec<String>,
    /// Differences between the daemon's file and the active configuration; absent: none, or no file.
    #[serde(default)]
    pub drift: Option<Drift>,
    /// Warnings for the operator, one sentence each.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub warnings: Vec<String>,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceStatus {
    /// Name of the service.
    pub name: String,
    /// Forwarding method.
    pub forward: String,
    /// Addresses with a port, a range of ports, or `*` for any port.
    pub listen: Vec<String>,
    /// Name of its pool.
    pub pool: String,
    /// Current state.
    pub state: ServiceState,
    /// Explanation of the state, one sentence: `3 of 4 servers are available`.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
    /// Time of the last change of the state.
    pub since_unix_ms: u64,
    /// Open client connections.
    pub open: u64,
    /// Active exchanges or `tcp` connections.
    pub in_flight: u64,
    /// Errors by who caused them.
    #[serde(default)]
    pub errors: ErrorCounts,
    /// Its certificates; empty without TLS.
    #[serde(default)]
    pub certificates: Vec<CertificateStatus>,
    /// Its objectives, with the remaining error budget; empty: none.
    #[serde(default)]
    #[serde(alias = "promises")]
    pub objectives: Vec<ObjectiveStatus>,
}

/// What a service can do for its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceState {
    /// Listening, and every enabled server takes work.
    Up,
    /// Listening, and some server that should take work does not, or at least 5 % of what ended lately were errors.
    Degraded,
    /// Not listening, or no server is available.
    Down,
    /// Takes no new connection and finishes what it has.
    Draining,
}

impl ServiceState {
    /// As written for people.
    pub const fn name(self) -> &'static str {
        match self {
            ServiceState::Up => "up",
            ServiceState::Degraded => "degraded",
            ServiceState::Down => "down",
            ServiceState::Draining => "draining",
        }
    }
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolStatus {
    /// Name of the pool.
    pub name: String,
    /// Balancing policy: `least-request`.
    pub balance: String,
    /// Errors of attempts at its servers.
    #[serde(default)]
    pub errors: ErrorCounts,
    /// Its servers, in the order of the configuration.
    pub servers: Vec<ServerStatus>,
    /// Requests and `tcp` connections in the wait queue.
    #[serde(default)]
    pub waiting: u32,
    /// Time since which load is shed; absent: it is not.
    #[serde(default)]
    pub shedding_since_unix_ms: Option<u64>,
    /// Its circuit breakers with a limit.
    #[serde(default)]
    #[serde(alias = "breakers")]
    pub circuit_breakers: Vec<BreakerStatus>,
}

/// A circuit breaker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BreakerStatus {
    /// The limited resource.
    #[serde(alias = "bound")]
    pub resource: BreakerResource,
    /// Whether the breaker rejected a request within the last second.
    pub open: bool,
    /// Time of the last change; the start of the daemon if there was none.
    pub since_unix_ms: u64,
    /// Current use of the resource.
    pub in_use: u32,
    /// Limit of the resource.
    pub limit: u32,
    /// Rejected requests since the daemon started.
    pub refused: u64,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerStatus {
    /// Name of the server.
    pub name: String,
    /// Configured address or name, and port.
    pub address: String,
    /// Resolved address; absent while the name does not resolve.
    pub resolved: Option<SocketAddr>,
    /// Current state.
    pub state: ServerState,
    /// Administrative state.
    pub admin: AdminState,
    /// Active weight.
    pub weight: u16,
    /// Its weight in the configuration.
    pub configured_weight: u16,
    /// Time of the last change of the state.
    pub since_unix_ms: u64,
    /// Evidence for its state.
    pub reason: Evidence,
    /// Active exchanges or `tcp` connections.
    pub in_flight: u32,
    /// Open connections, including idle ones.
    pub connections: u32,
    /// Limit of connections; absent: no limit.
    #[serde(alias = "cap")]
    pub max_connections: Option<u32>,
    /// Errors of attempts at it.
    #[serde(default)]
    pub errors: ErrorCounts,
    /// Whether it counts as up without evidence: it has no health check and had no requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// While it drains: clients with a sticky session that may still come; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "keeps")]
    pub sticky_clients: Option<StickyClients>,
    /// Current or planned maintenance; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<PlannedMaintenance>,
}

/// A window in which a server takes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlannedMaintenance {
    /// Start of the maintenance.
    pub from_unix_ms: u64,
    /// End of the maintenance; absent: until the server is enabled.
    pub until_unix_ms: Option<u64>,
    /// Reason given by the operator.
    pub reason: String,
    /// Who gave the command.
    pub who: String,
}

/// Clients that a draining server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StickyClients {
    /// End of the time in which they may come.
    pub until_unix_ms: u64,
    /// Clients in the sticky tables of all services; absent: not counted yet.
    pub clients: Option<u64>,
    /// Whether there may be more, because clients with cookies are not counted.
    pub uncounted: bool,
}

/// Why something is in its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Evidence {
    /// Source of the evidence.
    pub source: Source,
    /// The observation: `http GET /healthz 200 in 1 ms`, `connection refused`.
    pub text: String,
    /// Time of the last observation.
    pub at_unix_ms: u64,
    /// The health check; absent: the state follows a command or an assumption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "seen")]
    pub check: Option<CheckEvidence>,
}

/// What was seen of a server, by whom and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CheckEvidence {
    /// The health check: `http GET /healthz at 10.0.0.11:8080`; absent: client connections.
    pub probe: Option<String>,
    /// The result: `http GET /healthz 200`.
    #[serde(alias = "saw")]
    pub result: String,
    /// Duration in microseconds; absent: not measured.
    #[serde(alias = "took-us")]
    pub duration_us: Option<u64>,
    /// Whether the check succeeded.
    #[serde(alias = "good")]
    pub passed: bool,
    /// Results of the same kind in a row.
    #[serde(alias = "in-a-row")]
    pub consecutive: u32,
}

/// Where evidence comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A probe's result.
    Probe,
    /// The report of its agent.
    Agent,
    /// Clients' own connections.
    Traffic,
    /// An operator's command.
    Operator,
    /// The configuration alone: `initial`, `admin`.
    Configuration,
    /// Name resolution.
    Resolver,
}

/// Something on its way out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Draining {
    /// The draining object: `service shop on 203.0.113.10:80`, `server web/a`, `the process`.
    #[serde(alias = "what")]
    pub subject: String,
    /// What started the drain: `removed by generation 7`.
    pub reason: String,
    /// Start of the drain.
    pub since_unix_ms: u64,
    /// Time at which the rest is closed; absent: never.
    pub until_unix_ms: Option<u64>,
    /// Connections that are still open.
    pub connections: u64,
    /// Exchanges or `tcp` connections that are still active.
    pub in_flight: u64,
}
