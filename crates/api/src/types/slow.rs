//! Whose time the slowest exchanges took: what `steelyard explain slow` shows.
//!
//! Counts of exchanges are estimates where a sample was measured; times of examples were measured. Owners are `client`,
//! `network`, `server`, `balancer` and `unknown`, limits the codes that captures are explained with too. Figures of services
//! that forward packets are of the connections that were watched; each stands for `sample`.

use std::collections::BTreeMap;

use model::time_attribution::TcpInfoDelta;
use serde::{Deserialize, Serialize};

/// Query of `GET /v1/explain/slow`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct SlowQuery {
    /// Only this service.
    pub service: Option<String>,
    /// Share of the slowest exchanges, percent, above 0 and at most 100; absent: 1.
    pub share_percent: Option<f64>,
    /// Only exchanges of the last milliseconds; absent: five minutes.
    pub since_ms: Option<u64>,
    /// Only those that this server had: `POOL/NAME`, or `POOL` for all of its servers.
    pub server: Option<String>,
    /// Only clients of this network: `ADDRESS/BITS`, or an address.
    pub from: Option<String>,
}

/// Answer of `GET /v1/explain/slow`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowExplained {
    /// Time of this answer.
    pub now_unix_ms: u64,
    /// Start of the time.
    pub since_unix_ms: u64,
    /// Share of exchanges that is shown, percent.
    pub share_percent: f64,
    /// Sampling: one exchange in this many is measured; absent: nothing is measured.
    pub sample: Option<u32>,
    /// Measured exchanges that were dropped because a buffer was full, since the daemon started.
    pub dropped: u64,
    /// Services by name; those without an exchange in that time are omitted.
    pub services: Vec<SlowService>,
    /// Watched connections of packet services, by name.
    #[serde(default)]
    pub packets: Vec<SlowPackets>,
}

/// The slowest exchanges of one service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowService {
    /// Name of the service.
    pub name: String,
    /// Duration from which an exchange counts as slow and is measured, milliseconds.
    #[serde(alias = "bound-ms")]
    pub threshold_ms: f64,
    /// Exchanges that match the query: counted, or estimated if the query selects clients or servers.
    pub exchanges: f64,
    /// Measured exchanges that match the query.
    #[serde(default)]
    pub sampled: usize,
    /// Failures, the most frequent first.
    #[serde(default)]
    pub failures: Vec<SlowFailure>,
    /// Number of the slowest exchanges.
    pub slowest: f64,
    /// Measured exchanges among the slowest.
    pub measured: usize,
    /// Duration of the fastest of the slowest, milliseconds.
    #[serde(alias = "quickest-ms")]
    pub min_ms: f64,
    /// Time of the slowest exchanges, seconds.
    pub seconds: f64,
    /// Time by owner; it sums to `seconds`.
    pub owners: Vec<SlowOwner>,
    /// Time by limit, the most first; it sums to `seconds`.
    pub reasons: Vec<SlowReason>,
    /// By pool, the most time first.
    pub pools: Vec<SlowGroup>,
    /// By server, the most time first; those beyond ten are in `others`.
    pub servers: Vec<SlowGroup>,
    /// By client network (/24, /56), the most time first; those beyond ten are in `others`.
    pub networks: Vec<SlowGroup>,
    /// The slowest exchanges, slowest first.
    pub examples: Vec<SlowExample>,
    /// Open client connections.
    #[serde(default)]
    pub connections: u32,
    /// The client with the most connections, an IPv4 address or an IPv6 /64, without those in `trust`.
    #[serde(default)]
    pub largest_client: Option<String>,
    /// Connections of that client.
    #[serde(default)]
    pub largest_client_connections: u32,
}

/// Exchanges that failed in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowFailure {
    /// The cause, as in the log and the metrics; `server-5xx` for a server's own error status.
    pub cause: String,
    /// The code of the same failure in captures.
    pub code: Option<String>,
    /// Who is responsible: `client`, `network`, `server` or `balancer`.
    pub owner: String,
    /// The cause as text.
    pub title: String,
    /// Number of exchanges: counted, or estimated if the query selects clients or servers.
    pub count: f64,
    /// Share of all exchanges, percent.
    pub share_percent: f64,
    /// Time of the first one.
    pub first_unix_ms: u64,
    /// Time of the last one.
    pub last_unix_ms: u64,
    /// Servers with the most failures; `none`: no server was chosen.
    pub servers: Vec<FailureTarget>,
    /// Client networks (/24, /56) with the most failures.
    pub networks: Vec<FailureTarget>,
    /// The id of the last measured one, as in the log.
    pub example: Option<String>,
    /// What to check, in a sentence.
    pub check: String,
}

/// Who met a failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FailureTarget {
    /// The server or network.
    pub name: String,
    /// Number of failures.
    pub count: f64,
}

/// An owner's part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowOwner {
    /// The owner: `client`, `network`, `server`, `balancer` or `unknown`.
    pub owner: String,
    /// Time, seconds.
    pub seconds: f64,
    /// Share of the whole time, percent.
    pub share_percent: f64,
}

/// A reason's part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowReason {
    /// Owner of the time.
    pub owner: String,
    /// Code of the limit: `RWND`.
    pub limit: String,
    /// The limit as text.
    pub title: String,
    /// Time, seconds.
    pub seconds: f64,
    /// Share of the whole time, percent.
    pub share_percent: f64,
    /// What to change, one sentence.
    pub advice: String,
}

/// A part of the slowest that have something in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowGroup {
    /// The pool, `POOL/NAME`, the network, `others` or `none`.
    pub name: String,
    /// Number of exchanges.
    pub exchanges: f64,
    /// Time of these exchanges, seconds.
    pub seconds: f64,
    /// Owner of most of the time.
    pub owner: String,
    /// Code of the limit that took most of the time.
    pub limit: String,
}

/// One exchange.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowExample {
    /// Request ID, as in the access log.
    pub id: String,
    /// End of the exchange.
    pub ended_unix_ms: u64,
    /// Address of the client.
    pub client: String,
    /// Server of the last attempt, `POOL/NAME`; absent: none was chosen, or it was removed.
    pub server: Option<String>,
    /// Status of the response; 0: none.
    pub status: u16,
    /// Cause of the failure; absent: there was none.
    pub cause: Option<String>,
    /// Attempts, including replays.
    pub attempts: u16,
    /// Duration, milliseconds.
    pub total_ms: f64,
    /// Times by phase, milliseconds: `accept`, `tls`, `head`, `queue`, `connect`, `body-in`, `first-byte`, `body-out`.
    pub phases_ms: BTreeMap<String, f64>,
    /// Milliseconds by `OWNER/LIMIT`; they sum to `total-ms`.
    pub parts_ms: BTreeMap<String, f64>,
    /// Further facts: `http2-client`, `http2-server`, `reused`, `tunnel`.
    pub notes: Vec<String>,
    /// TCP facts of the client's connection, if they were read.
    pub client_tcp: Option<TcpInfoDelta>,
    /// TCP facts of the server's connection, if they were read.
    pub server_tcp: Option<TcpInfoDelta>,
}

/// A service that forwards packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowPackets {
    /// Name of the service.
    pub name: String,
    /// Forwarding method: `mac`, `tunnel`, `nat`.
    pub forward: String,
    /// Whether both directions of its connections pass through the balancer.
    pub both_directions: bool,
    /// What cannot be seen of its connections here.
    #[serde(alias = "unseen")]
    pub limitations: Vec<String>,
    /// One connection in this many is watched; absent: none.
    pub sample: Option<u32>,
    /// Watched connections with packets in that time.
    pub watched: usize,
    /// Connections that began in that time.
    #[serde(alias = "begun")]
    pub started: usize,
    /// Connections whose first packets were not seen.
    pub late: usize,
    /// Connections of which only closed windows can be seen, because their window scale is unknown.
    pub unscaled: usize,
    /// TCP handshakes.
    pub handshakes: Handshakes,
    /// Packets from clients.
    pub client: PacketSide,
    /// Packets from servers; absent if they do not pass through the balancer.
    pub server: Option<PacketSide>,
    /// Segments that this machine answered with a reset because their server was removed, since the tables were
    /// created.
    pub balancer_resets: u64,
    /// Time without progress of all connections, seconds.
    pub seconds: f64,
    /// Time by owner; it sums to `seconds`.
    pub owners: Vec<SlowOwner>,
    /// Time by limit, the most first; it sums to `seconds`.
    pub reasons: Vec<SlowReason>,
    /// By pool; `exchanges` are connections.
    pub pools: Vec<SlowGroup>,
    /// By server; those beyond ten are in `others`.
    pub servers: Vec<SlowGroup>,
    /// By client network (/24, /56); those beyond ten are in `others`.
    pub networks: Vec<SlowGroup>,
    /// Connections with the longest time without progress, or with a bad end.
    pub examples: Vec<PacketExample>,
}

/// Handshakes of watched connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Handshakes {
    /// Completed handshakes.
    pub done: usize,
    /// Time from the SYN to the SYN-ACK: the path to the server and back. Absent if the server answers the client
    /// directly.
    pub server_part: Option<HandshakeTimes>,
    /// Time from the SYN-ACK to the client's ACK: the path to the client and back.
    pub client_part: Option<HandshakeTimes>,
    /// Time from the SYN to the client's ACK.
    #[serde(alias = "whole")]
    pub total: Option<HandshakeTimes>,
    /// Handshakes without a SYN-ACK.
    pub unanswered: usize,
    /// Handshakes without the client's ACK.
    pub unacknowledged: usize,
    /// Incomplete handshakes of which the missing part is unknown.
    pub unfinished: usize,
    /// Handshakes that the server reset.
    pub refused: usize,
}

/// Times of handshakes whose packets were sent once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HandshakeTimes {
    /// Measured handshakes.
    pub count: usize,
    /// Median, milliseconds.
    pub median_ms: f64,
    /// 95th percentile, milliseconds.
    pub p95_ms: f64,
    /// The longest, milliseconds.
    #[serde(alias = "longest-ms")]
    pub max_ms: f64,
}

/// What one side sent and announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketSide {
    /// Number of packets.
    pub packets: u64,
    /// Packets with data that the balancer had seen before: the loss was behind it, or they were repeated without
    /// need.
    pub lost_behind: u64,
    /// Packets that filled a gap late: the loss was before the balancer.
    pub lost_before: u64,
    /// Packets that filled a gap at once: they arrived in another order.
    pub reordered: u64,
    /// Time of silence before retransmissions, milliseconds.
    pub repair_ms: f64,
    /// Packets that announce a window of zero.
    pub zero_windows: u64,
    /// Time with a window of zero, milliseconds.
    pub zero_window_ms: f64,
    /// Packets that announce a window smaller than a segment.
    pub silly_windows: u64,
    /// Time with a window smaller than a segment, milliseconds.
    pub silly_window_ms: f64,
    /// Resets that it sent.
    pub resets: u64,
}

/// One connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketExample {
    /// Time at which its last packets were read.
    pub seen_unix_ms: u64,
    /// Address and port of the client.
    pub client: String,
    /// The server, `POOL/NAME`; absent: it was removed.
    pub server: Option<String>,
    /// Time without progress, milliseconds.
    pub total_ms: f64,
    /// Milliseconds by `OWNER/LIMIT`; they sum to `total-ms`.
    pub parts_ms: BTreeMap<String, f64>,
    /// Further facts: `refused`, `unanswered`, `unacknowledged`, `unfinished`, `reset-by-client`, `reset-by-server`,
    /// `late`, `scale-unknown`.
    pub notes: Vec<String>,
    /// Packets from the client.
    pub from_client: PacketSide,
    /// Packets from the server; absent if they do not pass through the balancer.
    pub from_server: Option<PacketSide>,
}
