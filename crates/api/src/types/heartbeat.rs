//! The heartbeat with another member: by which paths it is heard, what it says, and what both reach.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The heartbeat with another member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeartbeatStatus {
    /// Name of the other member.
    pub peer: String,
    /// Name of this member.
    pub name: String,
    /// `up`, `degraded` (some paths do not work in both directions) or `down`.
    pub state: String,
    /// Explanation of the state, one sentence.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
    /// Time of the last change of the state.
    pub since_unix_ms: u64,
    /// Version of the other member's daemon.
    pub peer_version: Option<String>,
    /// Protocol version of the other member's heartbeats.
    pub peer_protocol: Option<u8>,
    /// Generation of this member's configuration.
    pub generation: u64,
    /// Generation of the other member's configuration.
    pub peer_generation: Option<u64>,
    /// Parts of the configuration that differ between both members, as text.
    pub drift: Option<String>,
    /// Numbers of the active keys; the first one signs.
    pub keys: Vec<u8>,
    /// Paths between both members, in the order of the configuration.
    pub paths: Vec<HeartbeatPathStatus>,
    /// Reachability targets; empty: none are configured.
    pub targets: Vec<TargetStatus>,
    /// Targets that this member reaches; absent until all are known.
    pub reached: Option<u16>,
    /// Targets that the other member reaches.
    pub peer_reached: Option<u16>,
    /// Whether the other member reaches more targets and should become active.
    pub behind: bool,
    /// State of the other member in each group.
    pub groups: Vec<PeerGroup>,
    /// Counters by name.
    pub counts: BTreeMap<String, u64>,
    /// Replication of connections and sticky clients; absent if there is nothing to replicate.
    pub replication: Option<ReplicationStatus>,
    /// The witness, without which or the peer no member is active; absent: none is configured.
    #[serde(default)]
    pub witness: Option<WitnessStatus>,
}

/// A witness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WitnessStatus {
    /// Address of the witness.
    #[serde(alias = "at")]
    pub address: String,
    /// `held` (this member has a lease), `answers`, `silent` or `unasked`.
    pub state: String,
    /// Last response of the witness, as text.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
    /// Time of the last change of the state.
    pub since_unix_ms: u64,
    /// Leases that this member holds.
    #[serde(alias = "held")]
    pub leases_held: u64,
    /// Groups for which the other member lends its vote.
    #[serde(alias = "lent")]
    pub votes_lent: u64,
    /// Leases `given` and `refused`, and requests that were `unanswered`.
    pub counts: BTreeMap<String, u64>,
}

/// What was counted of a heartbeat and of replication with another member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PeerReport {
    /// Name of the other member.
    pub peer: String,
    /// Heartbeats `sent`, `not-sent` and `received` on all paths, and `introductions` and `peer-processes`, since the
    /// start.
    #[serde(alias = "beats")]
    pub heartbeats: BTreeMap<String, u64>,
    /// Rejected packets of all paths, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Replication of connections and sticky clients; absent if there is nothing to replicate.
    pub replication: Option<ReplicationStatus>,
}

/// The replication of connections and sticky clients between both members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReplicationStatus {
    /// `off` (the other member is not heard, or no packets are forwarded), `meeting`, `apart` (both hold addresses
    /// and use hashes of their own), `joining` (existing entries are being sent) or `following`.
    pub state: String,
    /// Records `sent`, `received`, `applied` and `resynchronised`; those that came within 50 ms of the change, as is known,
    /// `prompt`, and others, `slow`; `packets` and `bytes` sent; `syncs` of everything; rounds `held-back`.
    pub counts: BTreeMap<String, u64>,
    /// Rejected packets by reason.
    pub refused: BTreeMap<String, u64>,
    /// Records that were not applied, by reason.
    pub rejected: BTreeMap<String, u64>,
    /// Entries that could not be replicated, by reason.
    #[serde(alias = "untold")]
    pub unsent: BTreeMap<String, u64>,
}

/// A way between both members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeartbeatPathStatus {
    /// Both addresses and the interface.
    pub name: String,
    /// `up`, `one-way` (the other member does not receive on this path) or `down`.
    pub state: String,
    /// Explanation of the state, one sentence.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
    /// Time of the last change of the state.
    pub since_unix_ms: u64,
    /// Smallest of the last round trips, microseconds.
    pub round_trip_us: Option<u64>,
    /// Share of the last heartbeats that did not arrive, 0 to 1.
    pub loss: f64,
    /// Heartbeats that were sent.
    pub sent: u64,
    /// Heartbeats that could not be sent.
    pub not_sent: u64,
    /// Heartbeats that were accepted.
    pub received: u64,
    /// Rejected packets by reason.
    pub refused: BTreeMap<String, u64>,
}

/// What should be reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TargetStatus {
    /// Address of the target, with a port for TCP connections.
    pub name: String,
    /// `reached`, `lost`, or `unknown` (before the first check).
    pub state: String,
    /// Health checks answered in time.
    pub answered: u64,
    /// Health checks without an answer.
    pub unanswered: u64,
}

/// The other member's part in a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PeerGroup {
    /// Virtual router ID.
    pub id: u8,
    /// Address family: 4 or 6.
    pub family: u8,
    /// `active`, `standby` or `idle`.
    pub state: String,
    /// Priority of the other member.
    pub priority: u8,
}
