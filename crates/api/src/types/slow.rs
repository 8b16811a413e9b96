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
    /// The slowest so much, percent, above 0 and at most 100; absent: 1.
    pub share_percent: Option<f64>,
    /// Of the last so many milliseconds; absent: five minutes.
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
    /// When this was made.
    pub now_unix_ms: u64,
    /// Since when exchanges are looked at.
    pub since_unix_ms: u64,
    /// Which share of them is shown, percent.
    pub share_percent: f64,
    /// Sampling: one exchange in this many is measured; absent: nothing is measured.
    pub sample: Option<u32>,
    /// Measured exchanges that found no room on their way, since the daemon's start.
    pub dropped: u64,
    /// By service, by name; those without an exchange in that time are left out.
    pub services: Vec<SlowService>,
    /// What watched connections of services that forward packets show, by name.
    #[serde(default)]
    pub packets: Vec<SlowPackets>,
}

/// The slowest exchanges of one service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowService {
    /// The service.
    pub name: String,
    /// An exchange that takes so long or longer counts as slow now and is measured, milliseconds.
    #[serde(alias = "bound-ms")]
    pub threshold_ms: f64,
    /// Exchanges that match the query: counted, or estimated if the query selects clients or servers.
    pub exchanges: f64,
    /// How many of them were measured.
    #[serde(default)]
    pub sampled: usize,
    /// What failed, the most frequent first.
    #[serde(default)]
    pub failures: Vec<SlowFailure>,
    /// The slowest of them.
    pub slowest: f64,
    /// Measured exchanges that stand for those.
    pub measured: usize,
    /// Each of the slowest took at least this long, milliseconds.
    #[serde(alias = "quickest-ms")]
    pub min_ms: f64,
    /// All of their time, seconds.
    pub seconds: f64,
    /// Whose time it was; every owner, their seconds sum to `seconds`.
    pub owners: Vec<SlowOwner>,
    /// Why, the most time first; their seconds sum to `seconds`.
    pub reasons: Vec<SlowReason>,
    /// By pool, the most time first.
    pub pools: Vec<SlowGroup>,
    /// By server, the most time first; what is beyond ten stands in `others`.
    pub servers: Vec<SlowGroup>,
    /// By network of clients (/24, /56), the most time first; what is beyond ten stands in `others`.
    pub networks: Vec<SlowGroup>,
    /// The slowest of all, slowest first.
    pub examples: Vec<SlowExample>,
    /// Client connections open now.
    #[serde(default)]
    pub connections: u32,
    /// The client that has most of them, an IPv4 address or a /64; those in `trust` are not counted.
    #[serde(default)]
    pub largest_client: Option<String>,
    /// How many it has.
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
    /// Whose: `client`, `network`, `server` or `balancer`.
    pub owner: String,
    /// The same as text.
    pub title: String,
    /// Number of exchanges: counted, or estimated if the query selects clients or servers.
    pub count: f64,
    /// Of all exchanges, percent.
    pub share_percent: f64,
    /// When the first was seen.
    pub first_unix_ms: u64,
    /// When the last was seen.
    pub last_unix_ms: u64,
    /// Servers that they met, the most first; `none`: no server was chosen.
    pub servers: Vec<FailureTarget>,
    /// Networks of clients (/24, /56) that met them, the most first.
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
    /// A server or a network.
    pub name: String,
    /// How many.
    pub count: f64,
}

/// An owner's part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowOwner {
    /// Whose.
    pub owner: String,
    /// How much.
    pub seconds: f64,
    /// Of all of it, percent.
    pub share_percent: f64,
}

/// A reason's part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowReason {
    /// Whose time.
    pub owner: String,
    /// The limit's code: `RWND`.
    pub limit: String,
    /// The same as text.
    pub title: String,
    /// How much.
    pub seconds: f64,
    /// Of all of it, percent.
    pub share_percent: f64,
    /// What to change, in a sentence.
    pub advice: String,
}

/// A part of the slowest that have something in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowGroup {
    /// What: a pool, `POOL/NAME`, a network, `others`, `none`.
    pub name: String,
    /// How many exchanges.
    pub exchanges: f64,
    /// Their time.
    pub seconds: f64,
    /// Whose time most of it was.
    pub owner: String,
    /// Why, by the limit's code.
    pub limit: String,
}

/// One exchange.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowExample {
    /// Its id, as in the access log.
    pub id: String,
    /// When it ended.
    pub ended_unix_ms: u64,
    /// Its client.
    pub client: String,
    /// The server of its last attempt, `POOL/NAME`; absent: none was chosen, or it is gone.
    pub server: Option<String>,
    /// The answer's status; 0: none.
    pub status: u16,
    /// Why it did not end well.
    pub cause: Option<String>,
    /// Attempts, replays included.
    pub attempts: u16,
    /// What it took, milliseconds.
    pub total_ms: f64,
    /// Times by phase, milliseconds: `accept`, `tls`, `head`, `queue`, `connect`, `body-in`, `first-byte`, `body-out`.
    pub phases_ms: BTreeMap<String, f64>,
    /// Whose time it was and why, milliseconds by `OWNER/LIMIT`; they sum to `total-ms`.
    pub parts_ms: BTreeMap<String, f64>,
    /// What is to be known beside: `http2-client`, `http2-server`, `reused`, `tunnel`.
    pub notes: Vec<String>,
    /// What happened on the client's connection, if it was read.
    pub client_tcp: Option<TcpInfoDelta>,
    /// What happened on the server's connection, if it was read.
    pub server_tcp: Option<TcpInfoDelta>,
}

/// A service that forwards packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SlowPackets {
    /// The service.
    pub name: String,
    /// Its method: `mac`, `tunnel`, `nat`.
    pub forward: String,
    /// Both directions of its connections come through here.
    pub both_directions: bool,
    /// What cannot be seen of its connections from here.
    #[serde(alias = "unseen")]
    pub limitations: Vec<String>,
    /// One connection in so many is watched; absent: none is.
    pub sample: Option<u32>,
    /// Watched connections that had packets in that time.
    pub watched: usize,
    /// Those of them that began in it.
    #[serde(alias = "begun")]
    pub started: usize,
    /// Those whose first packets were not seen.
    pub late: usize,
    /// Those of whose windows no more than 'closed' can be read: their scale was not seen.
    pub unscaled: usize,
    /// Opening connections.
    pub handshakes: Handshakes,
    /// What clients sent and announced.
    pub client: PacketSide,
    /// What servers did; absent where it goes past.
    pub server: Option<PacketSide>,
    /// Segments that this machine answered with a reset, all of them and since the tables were made: their server was
    /// removed.
    pub balancer_resets: u64,
    /// How long they stood still, seconds, all together.
    pub seconds: f64,
    /// Whose time it was; every owner, their seconds sum to `seconds`.
    pub owners: Vec<SlowOwner>,
    /// Why, the most time first; their seconds sum to `seconds`.
    pub reasons: Vec<SlowReason>,
    /// By pool; `exchanges` are connections.
    pub pools: Vec<SlowGroup>,
    /// By server; what is beyond ten stands in `others`.
    pub servers: Vec<SlowGroup>,
    /// By network of clients (/24, /56); what is beyond ten stands in `others`.
    pub networks: Vec<SlowGroup>,
    /// Those that stood still longest, or ended badly.
    pub examples: Vec<PacketExample>,
}

/// Handshakes of watched connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Handshakes {
    /// Those that were done.
    pub done: usize,
    /// From the SYN to its answer: the way to the server and back. Absent where the answer goes past.
    pub server_part: Option<HandshakeTimes>,
    /// From the answer to its acknowledgement: the way to the client and back.
    pub client_part: Option<HandshakeTimes>,
    /// From the SYN to the client's acknowledgement.
    #[serde(alias = "whole")]
    pub total: Option<HandshakeTimes>,
    /// Not done because the SYN was not answered.
    pub unanswered: usize,
    /// Not done because the answer was not acknowledged.
    pub unacknowledged: usize,
    /// Not done, and whose turn it was cannot be seen.
    pub unfinished: usize,
    /// Refused by the server, with a reset.
    pub refused: usize,
}

/// Times of handshakes whose packets were sent once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HandshakeTimes {
    /// How many were measured.
    pub count: usize,
    /// Half of them took no longer, milliseconds.
    pub median_ms: f64,
    /// Nineteen of twenty took no longer.
    pub p95_ms: f64,
    /// The longest.
    #[serde(alias = "longest-ms")]
    pub max_ms: f64,
}

/// What one side sent and announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketSide {
    /// Packets.
    pub packets: u64,
    /// Packets with what had come through here before: lost behind us, or sent again without need.
    pub lost_behind: u64,
    /// Packets that filled a gap late: lost before us.
    pub lost_before: u64,
    /// Packets that filled a gap at once: in another order.
    pub reordered: u64,
    /// How long the side was silent before what repaired a loss, milliseconds.
    pub repair_ms: f64,
    /// Packets that close its window.
    pub zero_windows: u64,
    /// How long its window stood closed, milliseconds.
    pub zero_window_ms: f64,
    /// Packets that leave less room than a segment.
    pub silly_windows: u64,
    /// How long its window stood smaller than a segment, milliseconds.
    pub silly_window_ms: f64,
    /// Resets that it sent.
    pub resets: u64,
}

/// One connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PacketExample {
    /// When its last packets were read.
    pub seen_unix_ms: u64,
    /// Its client, with its port.
    pub client: String,
    /// Its server, `POOL/NAME`; absent: it is gone.
    pub server: Option<String>,
    /// How long it stood still, milliseconds.
    pub total_ms: f64,
    /// Whose time it was and why, milliseconds by `OWNER/LIMIT`; they sum to `total-ms`.
    pub parts_ms: BTreeMap<String, f64>,
    /// What is to be known beside: `refused`, `unanswered`, `unacknowledged`, `unfinished`, `reset-by-client`,
    /// `reset-by-server`, `late`, `scale-unknown`.
    pub notes: Vec<String>,
    /// What its client sent and announced.
    pub from_client: PacketSide,
    /// What its server did; absent where it goes past.
    pub from_server: Option<PacketSide>,
}
