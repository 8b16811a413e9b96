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
    /// The daemon waits this long and reports rates and times over just that; absent: over its own last interval.
    pub interval_ms: Option<u64>,
}

/// The longest `interval-ms` that is taken.
/// Below the deadline of the API for one request, 90 s.
pub const INTERVAL_MS_MAX: u64 = 60_000;

/// Answer of `GET /v1/report`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Report {
    /// The active configuration.
    pub generation: u64,
    /// When this was made.
    pub now_unix_ms: u64,
    /// Since the start.
    pub uptime_ms: u64,
    /// What rates and times cover.
    pub interval_ms: u64,
    /// All services together.
    pub total: ServiceCounts,
    /// Services by name.
    pub services: Vec<ServiceReport>,
    /// Pools by name.
    pub pools: Vec<PoolReport>,
    /// Source ports by source and destination.
    pub ports: Vec<PortReport>,
    /// How much of every limit is in use, the fullest first, at most 250.
    #[serde(default)]
    pub headroom: Vec<super::headroom::HeadroomReport>,
    /// What belongs to the process.
    pub process: Process,
    /// The packet plane; absent where no service forwards packets.
    #[serde(default)]
    pub packets: Option<super::packets::PacketsReport>,
    /// DNS queries by transport; empty where none are answered.
    #[serde(default)]
    pub names: Vec<super::names::NamesReport>,
    /// Shared addresses by group: what this member counted, and its last changes.
    #[serde(default)]
    pub members: Vec<super::vrrp::MemberReport>,
    /// Replication between this member and its peers.
    #[serde(default)]
    pub peers: Vec<super::heartbeat::PeerReport>,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceReport {
    /// Its name.
    pub name: String,
    /// `http` or `tcp`.
    pub forward: String,
    /// Its counts.
    #[serde(flatten)]
    pub counts: ServiceCounts,
    /// Its rules, in their order.
    #[serde(default)]
    pub rules: Vec<super::request::RuleReport>,
    /// What it remembers of clients; absent: nothing.
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
    /// Answers of servers by class.
    pub statuses: Statuses,
    /// Retries: attempts after the first.
    pub retried: Counter,
    /// Requests sent again because an idle connection was stale.
    pub replayed: Counter,
    /// Bytes from and to clients.
    pub bytes: Bytes,
    /// Ends other than well, by cause; only those that happened.
    pub causes: Vec<CauseCount>,
    /// Refused requests by the rule of grammar they broke; only those that happened.
    pub defects: Vec<NamedCount>,
    /// Limits met and lines dropped, by name; only those that happened.
    pub limits: Vec<NamedCount>,
    /// Handshakes with clients by how they ended: `handshakes`, of those `resumed`, and `failed`; only what happened.
    #[serde(default)]
    pub tls: Vec<NamedCount>,
    /// Headers of the PROXY protocol that were taken, and what was done with bodies, by name; only what happened.
    #[serde(default)]
    pub bodies: Vec<NamedCount>,
    /// Where the time went.
    pub phases: Vec<PhaseTimes>,
}

/// Client connections. `accepted` = `closed` + `open` + `unaccounted`; `refused` is part of `accepted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Connections {
    /// Accepted.
    pub accepted: Counter,
    /// Of those, refused at once because of a limit.
    pub refused: Counter,
    /// Of those, ended.
    pub closed: Counter,
    /// Of those, open now.
    pub open: u64,
    /// Of those, none of the above; a snapshot taken under load may be off by what moved meanwhile.
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
    /// Heads read, or `tcp` connections given to a server.
    pub requests: Counter,
    /// Ended with a server's whole answer, or `tcp` connections closed in order.
    pub answered: Counter,
    /// Ended with an answer of the balancer's own.
    #[serde(alias = "answered-by-us")]
    pub local_replies: Counter,
    /// Ended without a whole answer.
    pub aborted: Counter,
    /// Of the requests, those that became tunnels.
    pub upgraded: Counter,
    /// Under way now.
    pub in_flight: u64,
    /// None of the above; a snapshot taken under load may be off by what moved meanwhile.
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
    /// Received.
    pub received: Counter,
    /// Sent.
    pub sent: Counter,
    /// Of both, moved within the kernel by splice(2).
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
    /// The cause's name.
    pub cause: String,
    /// Who moved first.
    pub side: Side,
    /// How often.
    #[serde(flatten)]
    pub count: Counter,
}

/// A count with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedCount {
    /// What is counted.
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
    /// How many were recorded.
    pub count: u64,
    /// The average.
    pub mean_us: Option<u64>,
    /// Half took at most this.
    pub p50_us: Option<u64>,
    /// Nine in ten took at most this.
    pub p90_us: Option<u64>,
    /// Ninety-nine in a hundred took at most this.
    pub p99_us: Option<u64>,
    /// How many took at most 128 µs, 256 µs and so on, each twice the one before, that did not fit before; the last: all
    /// that took longer. Of the phase `total` of services alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub octaves: Vec<u64>,
}

/// The first edge of [`PhaseTimes::octaves`], microseconds.
pub const OCTAVE_US: u64 = 128;
/// How many there are: the last edge is 128 µs × 2^16, 8.4 s, and one is without.
pub const OCTAVES: usize = 18;

/// A pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolReport {
    /// Its name.
    pub name: String,
    /// What its requests cost beyond one attempt each, by name; what never happened is left out.
    #[serde(default)]
    pub counts: Vec<NamedCount>,
    /// Errors of attempts at its servers.
    #[serde(default)]
    pub errors: super::error_counts::ErrorCounts,
    /// Its servers in the order configured.
    pub servers: Vec<ServerReport>,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerReport {
    /// Its name in the pool.
    pub name: String,
    /// Its state now.
    pub state: ServerState,
    /// Exchanges or `tcp` connections under way.
    pub in_flight: u32,
    /// Open connections, including idle ones.
    pub connections: u32,
    /// Connections tried.
    pub connects: Counter,
    /// Of those, failed.
    pub connect_failed: Counter,
    /// Requests or `tcp` connections sent.
    pub requests: Counter,
    /// Answered whole.
    pub answered: Counter,
    /// Sent on an idle connection of the pool.
    pub reused: Counter,
    /// Idle connections that the server closed first.
    pub stale: Counter,
    /// Idle connections that the balancer closed.
    pub retired: Counter,
    /// Errors of attempts at it.
    #[serde(default)]
    pub errors: super::error_counts::ErrorCounts,
    /// Answers by class.
    pub statuses: Statuses,
    /// Bytes from and to the server.
    pub bytes: Bytes,
    /// Ends other than well, by cause; only those that happened.
    pub causes: Vec<CauseCount>,
    /// Where the time went.
    pub phases: Vec<PhaseTimes>,
}

/// What belongs to the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Process {
    /// File descriptors.
    pub descriptors: Descriptors,
    /// Resident bytes.
    pub resident_bytes: u64,
    /// Of those, bytes buffered for slow receivers.
    #[serde(default)]
    #[serde(alias = "held-bytes")]
    pub buffered_bytes: u64,
    /// Bytes that wait in pipes of the kernel for receivers that do not take them.
    #[serde(default)]
    pub piped_bytes: u64,
    /// Memory of all TCP sockets of this machine's network namespace, bytes, as the kernel counts it.
    #[serde(default)]
    pub kernel_tcp_bytes: u64,
    /// Access log lines that were dropped.
    pub log_lines_dropped: Counter,
}

/// File descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Descriptors {
    /// Open now.
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
