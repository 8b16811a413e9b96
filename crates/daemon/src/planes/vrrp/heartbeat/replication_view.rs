//! The view of replication, for `status` and metrics. Its thread publishes it.

use std::collections::BTreeMap;

use ha::replica::peer::ReplicaCounters;

/// How far both members are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplicationState {
    /// Nothing is replicated: no service, no plane, or the peer is silent.
    #[default]
    Off,
    /// The other member does not understand our hashes yet, or we its.
    Handshaking,
    /// Both hold addresses, and hash connections with different secrets.
    SecretsDiffer,
    /// Everything that one of them has is on its way.
    Joining,
    /// Each has the other's state of the time when it joined, and gets changes.
    Following,
}

impl ReplicationState {
    /// As written for people.
    pub const fn name(self) -> &'static str {
        match self {
            ReplicationState::Off => "off",
            ReplicationState::Handshaking => "meeting",
            ReplicationState::SecretsDiffer => "apart",
            ReplicationState::Joining => "joining",
            ReplicationState::Following => "following",
        }
    }
}

/// Replication with the other member.
#[derive(Clone, Debug, Default)]
pub struct ReplicationView {
    /// How far both are.
    pub state: ReplicationState,
    /// This member waits for the peer's state: it must not take an address from it by priority yet.
    pub is_waiting: bool,
    pub counts: ReplicaCounters,
    /// Records that were entered.
    pub applied: u64,
    /// Records that were not, by why.
    pub rejected: BTreeMap<&'static str, u64>,
    /// Entries that could not be sent, by reason.
    pub unsendable: BTreeMap<&'static str, u64>,
}
