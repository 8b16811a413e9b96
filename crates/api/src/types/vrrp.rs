//! Shared addresses: what this member of each group is, since when and why; and taking them over.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// This member of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MemberStatus {
    /// Name of the group.
    pub name: String,
    /// Interface of the group.
    pub interface: String,
    /// Virtual router ID.
    pub id: u8,
    /// The virtual addresses.
    pub addresses: Vec<IpAddr>,
    /// `active`, `standby`, or `idle` (takes no part).
    pub state: String,
    /// Explanation of the state, one sentence.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
    /// Time of the last change of the state.
    pub since_unix_ms: u64,
    /// Current priority; a command may have raised it.
    pub priority: u8,
    /// Address of the other active member that was heard last.
    #[serde(alias = "heard")]
    pub active_peer: Option<IpAddr>,
    /// Priority of that member.
    #[serde(alias = "heard-priority")]
    pub active_peer_priority: Option<u8>,
    /// Last state changes, oldest first.
    pub changes: Vec<MemberChange>,
    /// Counters by name.
    pub counts: BTreeMap<String, u64>,
    /// Packets that were dropped or not sent, by reason.
    pub dropped: BTreeMap<String, u64>,
}

/// What a member of a group counted, and its last changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MemberReport {
    /// Name of the group.
    pub group: String,
    /// Advertisements, announcements and state changes since the start, by name.
    pub counts: BTreeMap<String, u64>,
    /// Packets that were dropped or not sent, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Last state changes, oldest first.
    pub changes: Vec<MemberChange>,
}

/// A change of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MemberChange {
    /// Time of the change.
    pub at_unix_ms: u64,
    /// The new state.
    pub state: String,
    /// Explanation, one sentence.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
}

/// The command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TakeoverVerb {
    /// This member becomes active.
    #[default]
    Take,
    /// The other member is to become active.
    Give,
    /// What a command raised or lent is over: priorities count again.
    Release,
}

impl TakeoverVerb {
    /// As written in a query.
    pub const fn name(self) -> &'static str {
        match self {
            TakeoverVerb::Take => "take",
            TakeoverVerb::Give => "give",
            TakeoverVerb::Release => "release",
        }
    }
}

/// Which group is to be taken over, or handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TakeoverQuery {
    /// Name of the group; absent: all groups.
    pub group: Option<String>,
    /// The command; default: `take`.
    pub order: Option<TakeoverVerb>,
    /// With `give`: even if the other member is not known to be able to take over.
    pub force: Option<bool>,
}

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TakeoverResult {
    /// Groups that changed.
    pub groups: Vec<String>,
}

/// A name that is to be held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LeaseRenewal {
    /// Name of the holder.
    pub holder: String,
    /// A number that grows each time the holder takes the lease. Requests with a lower one are rejected.
    pub ticket: u64,
    /// Whether the holder has the lease and renews it. A witness that has just started grants such a lease too.
    #[serde(default)]
    pub holds: bool,
    /// Duration, 200 to 30,000 milliseconds; 0 returns the lease.
    pub lease_ms: u64,
}

/// A name that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Lease {
    /// Duration of the lease from now, milliseconds; 0: it was returned.
    pub lease_ms: u64,
}
