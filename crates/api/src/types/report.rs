//! What passed through: totals, rates, discards by reason and times, with sums that add up.
//!
//! Totals count since the daemon's start; rates and times cover the last `interval-ms`. Every balance prints its
//! own remainder as `unaccounted`, which is 0 when nothing was missed. It holds no states: `status` does.

use std::ops::AddAssign;

use model::cause::Side;
use model::snapshot::ServerState;
use serde::{Deserialize, Serialize};

use super::counter::Counter;
use super::port::PortReport;

/// Query of `GET /v1/report`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ReportQuery {
    /// The daemon waits for this time, in milliseconds, and reports rates and times over it; absent: over its last interval.
    pub interval_ms: Option<u64>,
}

/// The longest `interval-ms` that is taken.
/// Below the deadline of the API for one request, 90 s.
pub const INTERVAL_MS_MAX: u64 = 60_000;

/// Answer of `GET /v1/report`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Report {
    /// The active generation.
    pub generation: u64,
    /// Time of this answer.
    pub now_unix_ms: u64,
    /// Time since the start, milliseconds.
    pub uptime_ms: u64,
    /// Interval of rates and times, milliseconds.
    pub interval_ms: u64,
    /// All services together.
    pub total: ServiceCounts,
    /// Services by name.
    pub services: Vec<ServiceReport>,
    /// Pools by name.
    pub pools: Vec<PoolReport>,
    /// Source ports by source and destination.
    pub ports: Vec<PortReport>,
    /// Use of every limit, the fullest first, at most 250.
    #[serde(default)]
    pub headroom: Vec<super::headroom::HeadroomReport>,
    /// Resources of the process.
    pub process: Process,
    /// Packet services; absent: there are none.
    #[serde(default)]
    pub packets: Option<super::packets::PacketsReport>,
    /// DNS queries by transport; empty: DNS is not configured.
    #[serde(default)]
    pub names: Vec<super::names::NamesReport>,
    /// Virtual addresses by group: counters and last changes.
    #[serde(default)]
    pub members: Vec<super::vrrp::MemberReport>,
    /// Replication with other members.
    #[serde(default)]
    pub peers: Vec<super::heartbeat::PeerReport>,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceReport {
    /// Name of the service.
    pub name: String,
    /// `http` or `tcp`.
    pub forward: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: ServiceCounts,
    /// Its rules, in order.
    #[serde(default)]
    pub rules: Vec<super::request::RuleReport>,
    /// Its sticky table; absent: there is none.
    #[serde(default)]
    pub affinity: Option<super::request::AffinityReport>,
    /// Operations by outcome for its SLO; absent: it has no objective.
    #[serde(default)]
    #[serde(alias = "users")]
    pub slo: Option<super::slo::SloReport>,
}

/// What is counted of a service, or of all together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceCounts {
    /// Client connections.
    pub connections: Connections,
    /// Requests, or `tcp` connections given to a server.
    pub requests: Requests,
    /// Errors by who caused them.
    #[serde(default)]
    pub errors: super::error_counts::ErrorCounts,
    /// Responses of servers by status class.
    pub statuses: Statuses,
    /// Retries: attempts after the first.
    pub retried: Counter,
    /// Requests that were sent again because an idle connection was closed.
    pub replayed: Counter,
    /// Bytes from and to clients.
    pub bytes: Bytes,
    /// Failures by cause; only those that happened.
    pub causes: Vec<CauseCount>,
    /// Malformed requests by violated rule; only those that happened.
    pub defects: Vec<NamedCount>,
    /// Limits that were reached and dropped log lines, by name; only those that happened.
    pub limits: Vec<NamedCount>,
    /// TLS handshakes with clients: `handshakes`, of those `resumed`, and `failed`; only those that happened.
    #[serde(default)]
    pub tls: Vec<NamedCount>,
    /// Headers of the PROXY protocol that were taken, and what was done with bodies, by name; only what happened.
    #[serde(default)]
    pub bodies: Vec<NamedCount>,
    /// Durations by phase.
    pub phases: Vec<PhaseTimes>,
}

/// Client connections. `accepted` = `closed` + `open` + `unaccounted`; `refused` is part of `accepted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Connections {
    /// Accepted connections.
    pub accepted: Counter,
    /// Connections refused at once because of a limit.
    pub refused: Counter,
    /// Closed connections.
    pub closed: Counter,
    /// Connections open now.
    pub open: u64,
    /// Accepted connections in none of these states. Under load a snapshot may be off by a few.
    pub unaccounted: i64,
}

impl Connections {
    /// With `unaccounted` worked out.
    pub fn new(accepted: Counter, refused: Counter, closed: Counter, open: u64) -> Self {
        let unaccounted = remainder(accepted.total, &[closed.total, open]);
        Connections { accepted, refused, closed, open, unaccounted }
    }
}

impl AddAssign for Connections {
    fn add_assign(&mut self, other: Connections) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.closed += other.closed;
        self.open += other.open;
        self.unaccounted += other.unaccounted;
    }
}

/// Requests. `requests` = `answered` + `local-replies` + `aborted` + `in-flight` + `unaccounted`; `upgraded` is part
/// of them: a tunnel is under way until it ends, and then ends like any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Requests {
    /// Requests read; `tcp` connections sent to a server.
    pub requests: Counter,
    /// Ended with a server's complete response; `tcp` connections that were closed in order.
    pub answered: Counter,
    /// Ended with the balancer's own response.
    #[serde(alias = "answered-by-us")]
    pub local_replies: Counter,
    /// Ended without a complete response.
    pub aborted: Counter,
    /// Requests that became tunnels.
    pub upgraded: Counter,
    /// Active now.
    pub in_flight: u64,
    /// Requests in none of these states. Under load a snapshot may be off by a few.
    pub unaccounted: i64,
}

impl Requests {
    /// With `unaccounted` worked out.
    pub fn new(
        requests: Counter,
        answered: Counter,
        local_replies: Counter,
        aborted: Counter,
        upgraded: Counter,
        in_flight: u64,
    ) -> Self {
        let ends = [answered.total, local_replies.total, aborted.total, in_flight];
        let unaccounted = remainder(requests.total, &ends);
        Requests { requests, answered, local_replies, aborted, upgraded, in_flight, unaccounted }
    }
}

impl AddAssign for Requests {
    fn add_assign(&mut self, other: Requests) {
        self.requests += other.requests;
        self.answered += other.answered;
        self.local_replies += other.local_replies;
        self.aborted += other.aborted;
        self.upgraded += other.upgraded;
        self.in_flight += other.in_flight;
        self.unaccounted += other.unaccounted;
    }
}

/// Answers by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Statuses {
    /// 1xx passed on.
    pub informational: Counter,
    /// 2xx.
    pub success: Counter,
    /// 3xx.
    pub redirect: Counter,
    /// 4xx.
    pub client_error: Counter,
    /// 5xx.
    pub server_error: Counter,
}

impl AddAssign for Statuses {
    fn add_assign(&mut self, other: Statuses) {
        self.informational += other.informational;
        self.success += other.success;
        self.redirect += other.redirect;
        self.client_error += other.client_error;
        self.server_error += other.server_error;
    }
}

/// Bytes received and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Bytes {
    /// Bytes received.
    pub received: Counter,
    /// Bytes sent.
    pub sent: Counter,
    /// Bytes moved within the kernel by splice(2), both directions; included in the others.
    pub spliced: Counter,
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.received += other.received;
        self.sent += other.sent;
        self.spliced += other.spliced;
    }
}

/// Ends by one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CauseCount {
    /// Name of the cause.
    pub cause: String,
    /// The side that ended the exchange.
    pub side: Side,
    /// How often.
    #[serde(flatten)]
    pub count: Counter,
}

/// A count with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedCount {
    /// Name of the counter.
    pub name: String,
    /// How often.
    #[serde(flatten)]
    pub count: Counter,
}

/// One phase's times over the interval, in microseconds. Quantiles are absent when nothing was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PhaseTimes {
    /// `queue`, `connect`, `first-byte`, `transfer` or `total`.
    pub phase: String,
    /// Recorded durations.
    pub count: u64,
    /// Mean, microseconds.
    pub mean_us: Option<u64>,
    /// 50th percentile (median), microseconds.
    pub p50_us: Option<u64>,
    /// 90th percentile, microseconds.
    pub p90_us: Option<u64>,
    /// 99th percentile, microseconds.
    pub p99_us: Option<u64>,
    /// Histogram: durations up to 128 µs, 256 µs and so on, each bound twice the one before; the last count has no
    /// bound. Only for the phase `total` of services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(alias = "octaves")]
    pub histogram: Vec<u64>,
}

/// The first edge of [`PhaseTimes::histogram`], microseconds.
pub const OCTAVE_US: u64 = 128;
/// How many there are: the last edge is 128 µs × 2^16, 8.4 s, and one is without.
pub const OCTAVES: usize = 18;

/// A pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolReport {
    /// Name of the pool.
    pub name: String,
    /// Retries, hedges and similar counts, by name; only those that happened.
    #[serde(default)]
    pub counts: Vec<NamedCount>,
    /// Errors of attempts at its servers.
    #[serde(default)]
    pub errors: super::error_counts::ErrorCounts,
    /// Its servers, in the order of the configuration.
    pub servers: Vec<ServerReport>,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerReport {
    /// Name of the server.
    pub name: String,
    /// Current state.
    pub state: ServerState,
    /// Active exchanges or `tcp` connections.
    pub in_flight: u32,
    /// Open connections, including idle ones.
    pub connections: u32,
    /// Connection attempts.
    pub connects: Counter,
    /// Connection attempts that failed.
    pub connect_failed: Counter,
    /// Requests or `tcp` connections sent.
    pub requests: Counter,
    /// Complete responses.
    pub answered: Counter,
    /// Requests sent on an idle connection.
    pub reused: Counter,
    /// Idle connections that the server closed first.
    pub stale: Counter,
    /// Idle connections that the balancer closed.
    pub retired: Counter,
    /// Errors of attempts at it.
    #[serde(default)]
    pub errors: super::error_counts::ErrorCounts,
    /// Responses by status class.
    pub statuses: Statuses,
    /// Bytes from and to the server.
    pub bytes: Bytes,
    /// Failures by cause; only those that happened.
    pub causes: Vec<CauseCount>,
    /// Durations by phase.
    pub phases: Vec<PhaseTimes>,
}

/// What belongs to the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Process {
    /// File descriptors.
    pub descriptors: Descriptors,
    /// Resident memory, bytes.
    pub resident_bytes: u64,
    /// Bytes buffered for slow receivers; included in `resident-bytes`.
    #[serde(default)]
    #[serde(alias = "held-bytes")]
    pub buffered_bytes: u64,
    /// Bytes in kernel pipes for slow receivers.
    #[serde(default)]
    pub piped_bytes: u64,
    /// Memory of all TCP sockets in this network namespace, bytes, as counted by the kernel.
    #[serde(default)]
    pub kernel_tcp_bytes: u64,
    /// Dropped lines of the access log.
    pub log_lines_dropped: Counter,
}

/// File descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Descriptors {
    /// Open file descriptors.
    pub in_use: u64,
    /// Limit of open file descriptors.
    pub limit: u64,
}

/// What is left of `whole` after its parts; never wraps.
fn remainder(whole: u64, parts: &[u64]) -> i64 {
    let rest = i128::from(whole) - parts.iter().map(|part| i128::from(*part)).sum::<i128>();
    i64::try_from(rest).unwrap_or(if rest < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests;
