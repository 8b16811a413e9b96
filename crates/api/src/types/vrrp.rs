//! Shared addresses: what this member of each group is, since when and why; and taking them over.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// This member of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MemberStatus {
    /// The group's name.
    pub name: String,
    /// Where it runs.
    pub interface: String,
    /// The virtual router's number.
    pub id: u8,
    /// What is shared.
    pub addresses: Vec<IpAddr>,
    /// `active`, `standby`, or `idle`: it takes no part.
    pub state: String,
    /// Why, in a sentence.
    pub reason: String,
    /// Since when.
    pub since_unix_ms: u64,
    /// The priority that it has now; an order may have raised it.
    pub priority: u8,
    /// Who else was heard to be active last.
    #[serde(alias = "heard")]
    pub active_peer: Option<IpAddr>,
    /// And with which priority.
    #[serde(alias = "heard-priority")]
    pub active_peer_priority: Option<u8>,
    /// The last changes, oldest first.
    pub changes: Vec<MemberChange>,
    /// What was counted, by name.
    pub counts: BTreeMap<String, u64>,
    /// Packets that were dropped or not sent, by reason.
    pub dropped: BTreeMap<String, u64>,
}

/// What a member of a group counted, and its last changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MemberReport {
    /// The group's name.
    pub group: String,
    /// Advertisements, announcements and changes since the start, by name.
    pub counts: BTreeMap<String, u64>,
    /// Packets that were dropped or not sent, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// The last changes, oldest first.
    pub changes: Vec<MemberChange>,
}

/// A change of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MemberChange {
    /// When.
    pub at_unix_ms: u64,
    /// To what.
    pub state: String,
    /// Why, in a sentence.
    pub reason: String,
}

/// The command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TakeoverOrder {
    /// This member becomes active.
    #[default]
    Take,
    /// The other member is to become active.
    Give,
    /// What an order raised or lent is over: priorities count again.
    Release,
}

impl TakeoverOrder {
    /// As written in a query.
    pub const fn name(self) -> &'static str {
        match self {
            TakeoverOrder::Take => "take",
            TakeoverOrder::Give => "give",
            TakeoverOrder::Release => "release",
        }
    }
}

/// Which group is to be taken over, or handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TakeoverQuery {
    /// Its name; all without it.
    pub group: Option<String>,
    /// The command; default: `take`.
    pub order: Option<TakeoverOrder>,
    /// With `give`: although the other member is not known to take it.
    pub force: Option<bool>,
}

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TakeoverResult {
    /// Groups that changed; of all groups those that needed nothing are left out.
    pub groups: Vec<String>,
}

/// A name that is to be held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LeaseOrder {
    /// Who holds it.
    pub holder: String,
    /// A number that grows with each time that this holder begins to hold it: what is asked with a lower one is out of
    /// date.
    pub ticket: u64,
    /// The holder has it now and goes on: then also a process that has just begun gives it.
    #[serde(default)]
    pub holds: bool,
    /// For how long, 200 to 30,000; 0 gives it back.
    pub lease_ms: u64,
}

/// A name that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Lease {
    /// For how long from now; 0: it was given back.
    pub lease_ms: u64,
}
