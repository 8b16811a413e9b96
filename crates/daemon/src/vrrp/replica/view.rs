//! How replication stands, for `status` and metrics. It is made by its thread and changed by nobody.

use std::collections::BTreeMap;

use ha::replica::partner::Counts;

/// How far both members are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing is to be told: no service, no plane, or the other member is not heard.
    #[default]
    Off,
    /// The other member does not understand our hashes yet, or we its.
    Meeting,
    /// Both hold addresses, and hash connections with secrets of their own.
    Apart,
    /// Everything that one of them has is on its way.
    Joining,
    /// Each has what the other one had when it joined, and is told of what changes.
    Following,
}

impl State {
    /// As written for people.
    pub const fn name(self) -> &'static str {
        match self {
            State::Off => "off",
            State::Meeting => "meeting",
            State::Apart => "apart",
            State::Joining => "joining",
            State::Following => "following",
        }
    }
}

/// Replication with the other member.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// How far both are.
    pub state: State,
    /// This member waits for what the other one has: it is not to take an address from it by priority yet.
    pub waits: bool,
    /// What was sent and came.
    pub counts: Counts,
    /// Records that were entered.
    pub applied: u64,
    /// Records that were not, by why.
    pub rejected: BTreeMap<&'static str, u64>,
    /// Entries that could not be told, by why.
    pub untold: BTreeMap<&'static str, u64>,
}
