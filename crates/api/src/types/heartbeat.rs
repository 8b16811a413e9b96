//! The heartbeat with another member: by which paths it is heard, what it says, and what both reach.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The heartbeat with another member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeartbeatStatus {
    /// The other member's name.
    pub peer: String,
    /// Ours.
    pub name: String,
    /// `up`, `degraded`: some paths do not carry beats both ways, or `down`: it is heard by none.
    pub state: String,
    /// Why, in a sentence.
    pub reason: String,
    /// Since when it is heard or not.
    pub since_unix_ms: u64,
    /// The other member's version.
    pub peer_version: Option<String>,
    /// The version of the beats that it writes.
    pub peer_protocol: Option<u8>,
    /// Our configuration.
    pub generation: u64,
    /// The other member's.
    pub peer_generation: Option<u64>,
    /// The parts of the configuration in which both members differ, as text.
    pub drift: Option<String>,
    /// Numbers of the active keys, the one that signs first.
    pub keys: Vec<u8>,
    /// The ways between both, in the order of the configuration.
    pub paths: Vec<BeatPathStatus>,
    /// What should be reached; none: nothing is compared.
    pub targets: Vec<TargetStatus>,
    /// Targets that we reach, once all are known.
    pub reached: Option<u16>,
    /// Targets that the other member reaches.
    pub peer_reached: Option<u16>,
    /// The other member has reached more for long enough: it is to have the addresses.
    pub behind: bool,
    /// The other member's part in groups.
    pub groups: Vec<PeerGroup>,
    /// What was counted, by name.
    pub counts: BTreeMap<String, u64>,
    /// Connections and sticky clients that both replicate; absent where there is nothing to replicate.
    pub replication: Option<ReplicationStatus>,
    /// The witness: no member is active without the witness or the peer; absent if none is configured.
    #[serde(default)]
    pub witness: Option<WitnessStatus>,
}

/// A witness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WitnessStatus {
    /// Its address.
    #[serde(alias = "at")]
    pub address: String,
    /// `held`: a lease of it is ours, `answers`, `silent`, or `unasked`.
    pub state: String,
    /// Its last response, as text.
    pub reason: String,
    /// Since when it answers or not.
    pub since_unix_ms: u64,
    /// Leases of it that are ours now.
    #[serde(alias = "held")]
    pub leases_held: u64,
    /// Groups for which the other member has lent us its vote now.
    #[serde(alias = "lent")]
    pub votes_lent: u64,
    /// Leases `given` and `refused`, and questions that were `unanswered`.
    pub counts: BTreeMap<String, u64>,
}

/// What was counted of a heartbeat and of replication with another member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PeerReport {
    /// The other member's name.
    pub peer: String,
    /// Beats `sent`, `not-sent` and `received`, of all paths, and `introductions` and `peer-processes`, since the start.
    #[serde(alias = "beats")]
    pub heartbeats: BTreeMap<String, u64>,
    /// Refused packets of all paths, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Records of connections and sticky clients; absent where there is nothing to replicate.
    pub replication: Option<ReplicationStatus>,
}

/// The replication of connections and sticky clients between both members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReplicationStatus {
    /// `off`: the other member is not heard, or no packets are forwarded; `meeting`; `apart`: both hold addresses, with
    /// hashes of their own; `joining`: what one has is on its way; or `following`.
    pub state: String,
    /// Records `sent`, `received`, `applied` and `resynchronised`; those that came within 50 ms of the change, as is known,
    /// `prompt`, and others, `slow`; `packets` and `bytes` sent; `syncs` of everything; rounds `held-back`.
    pub counts: BTreeMap<String, u64>,
    /// Refused packets, by reason.
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
pub struct BeatPathStatus {
    /// Both addresses, and the interface.
    pub name: String,
    /// `up`, `one-way`: the other member does not hear us by it, or `down`.
    pub state: String,
    /// Why, in a sentence.
    pub reason: String,
    /// Since when it is up or down.
    pub since_unix_ms: u64,
    /// The least of the last round trips, microseconds.
    pub round_trip_us: Option<u64>,
    /// Of the last beats, the share that did not come by it, 0–1.
    pub loss: f64,
    /// Beats that went out.
    pub sent: u64,
    /// Beats that could not.
    pub not_sent: u64,
    /// Beats that were taken.
    pub received: u64,
    /// Refused packets, by reason.
    pub refused: BTreeMap<String, u64>,
}

/// What should be reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TargetStatus {
    /// Its address, with a port where it is connected to.
    pub name: String,
    /// `reached`, `lost`, or `unknown`: before the first check.
    pub state: String,
    /// Answers in time.
    pub answered: u64,
    /// Questions without one.
    pub unanswered: u64,
}

/// The other member's part in a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PeerGroup {
    /// The virtual router's number.
    pub id: u8,
    /// The family of its addresses: 4 or 6.
    pub family: u8,
    /// `active`, `standby` or `idle`.
    pub state: String,
    /// The priority that it has there.
    pub priority: u8,
}
