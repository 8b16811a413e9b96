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
    /// The daemon's version.
    pub version: String,
    /// The active configuration.
    pub generation: u64,
    /// When this was made; ages are counted from here, not from the reader's clock.
    pub now_unix_ms: u64,
    /// When the daemon started.
    pub since_unix_ms: u64,
    /// How long it has run.
    pub uptime_ms: u64,
    /// Its process.
    pub pid: u32,
    /// Worker threads.
    pub workers: u32,
    /// What is wrong now, the gravest first, at most 250.
    #[serde(default)]
    pub alarms: Vec<StandingAlarm>,
    /// How many alarms stand beyond those listed.
    #[serde(default)]
    pub more_alarms: u64,
    /// What the rates and shares of errors cover, up to now.
    #[serde(default)]
    pub error_interval_ms: u64,
    /// Services by name.
    pub services: Vec<ServiceStatus>,
    /// Pools by name.
    pub pools: Vec<PoolStatus>,
    /// What is on its way out: parts of older generations with work still under way.
    pub draining: Vec<Draining>,
    /// The packet plane; absent where no service forwards packets.
    #[serde(default)]
    pub packets: Option<PacketsStatus>,
    /// Addresses that this machine shares with others, by group.
    #[serde(default)]
    pub vrrp: Vec<MemberStatus>,
    /// The heartbeats between this machine and others that share them.
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
    /// Names that are answered for; absent where none is.
    #[serde(default)]
    pub names: Option<NamesStatus>,
    /// Planes of packets whose pinned objects go with the process, each a whole sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<String>,
    /// In what the daemon's file differs from what is active; absent: in nothing, or there is no file.
    #[serde(default)]
    pub drift: Option<Drift>,
    /// What an operator should know now, each a whole sentence.
    pub warnings: Vec<String>,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceStatus {
    /// Its name.
    pub name: String,
    /// The method, as configured.
    pub forward: String,
    /// Where it listens: address and port, a range of ports, or `*` for any port.
    pub listen: Vec<String>,
    /// Its pool.
    pub pool: String,
    /// Its state.
    pub state: ServiceState,
    /// Why, in a sentence: `3 of 4 servers are available`.
    pub reason: String,
    /// Since when.
    pub since_unix_ms: u64,
    /// Open client connections.
    pub open: u64,
    /// Exchanges or `tcp` connections under way.
    pub in_flight: u64,
    /// Errors by who caused them.
    #[serde(default)]
    pub errors: ErrorCounts,
    /// The certificates that it shows; none without TLS.
    #[serde(default)]
    pub certificates: Vec<CertificateStatus>,
    /// Its objectives, with the error budget that is left; none without an objective.
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
    /// Its name.
    pub name: String,
    /// How it chooses, as configured: `least-request`.
    pub balance: String,
    /// Errors of attempts at its servers.
    #[serde(default)]
    pub errors: ErrorCounts,
    /// Its servers in the order configured.
    pub servers: Vec<ServerStatus>,
    /// Requests and `tcp` connections that wait for a server below its cap.
    #[serde(default)]
    pub waiting: u32,
    /// Since when those are shed that servers cannot take in time; absent: none are.
    #[serde(default)]
    pub shedding_since_unix_ms: Option<u64>,
    /// Its circuit breakers that have a limit.
    #[serde(default)]
    #[serde(alias = "breakers")]
    pub circuit_breakers: Vec<BreakerStatus>,
}

/// A circuit breaker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BreakerStatus {
    /// What it bounds.
    #[serde(alias = "bound")]
    pub resource: BreakerResource,
    /// It refuses: the last refusal was less than a second ago.
    pub open: bool,
    /// Since when; where it never opened since the daemon started.
    pub since_unix_ms: u64,
    /// How much is under way.
    pub in_use: u32,
    /// How much may be.
    pub limit: u32,
    /// How often it refused since the daemon started.
    pub refused: u64,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerStatus {
    /// Its name in the pool.
    pub name: String,
    /// As configured: address or name, and port.
    pub address: String,
    /// Where that is now; absent while a name does not resolve.
    pub resolved: Option<SocketAddr>,
    /// What it may take.
    pub state: ServerState,
    /// What the operator wants of it.
    pub admin: AdminState,
    /// Its active weight.
    pub weight: u16,
    /// Its weight in the configuration.
    pub configured_weight: u16,
    /// Since when it is in this state.
    pub since_unix_ms: u64,
    /// Why it is in this state.
    pub reason: Evidence,
    /// Exchanges or `tcp` connections under way.
    pub in_flight: u32,
    /// Open connections, including idle ones.
    pub connections: u32,
    /// The most connections it may have; absent: no cap.
    #[serde(alias = "cap")]
    pub max_connections: Option<u32>,
    /// Errors of attempts at it.
    #[serde(default)]
    pub errors: ErrorCounts,
    /// It is taken as up although nothing was seen of it: it has no probe, and no client was sent to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// While it drains: clients with a sticky session that may still come; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "keeps")]
    pub sticky_clients: Option<StickyClients>,
    /// Its maintenance, which has begun or is to come; absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<PlannedMaintenance>,
}

/// A window in which a server takes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PlannedMaintenance {
    /// From when.
    pub from_unix_ms: u64,
    /// Until when; absent: until it is enabled.
    pub until_unix_ms: Option<u64>,
    /// Why.
    pub reason: String,
    /// Who gave the command.
    pub who: String,
}

/// Clients that a draining server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StickyClients {
    /// Until when they may come.
    pub until_unix_ms: u64,
    /// How many are remembered to be its own, all services together; absent: they were not counted yet.
    pub clients: Option<u64>,
    /// There may be more: clients with sticky session cookies are not counted.
    pub uncounted: bool,
}

/// Why something is in its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Evidence {
    /// Where the evidence comes from.
    pub source: Source,
    /// What was seen: `http GET /healthz 200 in 1 ms`, `connection refused`.
    pub text: String,
    /// When it was seen last.
    pub at_unix_ms: u64,
    /// The same part by part; absent: there was no check, by a command or an assumption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "seen")]
    pub check: Option<CheckEvidence>,
}

/// What was seen of a server, by whom and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CheckEvidence {
    /// The probe: `http GET /healthz at 10.0.0.11:8080`; absent: clients' connections.
    pub probe: Option<String>,
    /// What it saw: `http GET /healthz 200`.
    #[serde(alias = "saw")]
    pub result: String,
    /// Duration in microseconds; absent: not measured.
    #[serde(alias = "took-us")]
    pub duration_us: Option<u64>,
    /// It speaks for the server.
    #[serde(alias = "good")]
    pub passed: bool,
    /// So many of the same kind, good or bad, came in a row.
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
    /// An operator's order.
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
    /// What: `service shop on 203.0.113.10:80`, `server web/a`, `the process`.
    #[serde(alias = "what")]
    pub subject: String,
    /// Why: `removed by generation 7`.
    pub reason: String,
    /// Since when.
    pub since_unix_ms: u64,
    /// When what is left is cut; absent: never.
    pub until_unix_ms: Option<u64>,
    /// Connections left.
    pub connections: u64,
    /// Exchanges or `tcp` connections left.
    pub in_flight: u64,
}
