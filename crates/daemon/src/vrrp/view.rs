//! How shared addresses stand, for `status` and metrics. It is made by the thread and changed by nobody.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::SystemTime;

use bpf::Shut;
use ha::counts::Counts;
use ha::machine::State;

use super::heartbeat::view::BeatView;

/// All groups.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// By name.
    pub groups: BTreeMap<String, GroupView>,
    /// Heartbeats with other members.
    pub heartbeats: Vec<BeatView>,
    /// Packets of protocol 112 that belong to no group, by what was wrong with them.
    pub dropped: BTreeMap<&'static str, u64>,
    /// What the dead man's gate kept from passing; `None`: there is none.
    pub shut: Option<Shut>,
    /// Why the gate does not stand although a group wants it.
    pub broken: Option<String>,
}

/// One group.
#[derive(Clone, Debug)]
pub struct GroupView {
    /// Its interface.
    pub interface: String,
    /// The virtual router's number.
    pub id: u8,
    /// What is shared.
    pub addresses: Vec<IpAddr>,
    /// What this member is.
    pub state: State,
    /// Since when.
    pub since: SystemTime,
    /// Why, in a sentence.
    pub reason: String,
    /// The priority that it has now.
    pub priority: u8,
    /// Who else was heard to be active last, and with which priority.
    pub heard: Option<(IpAddr, u8)>,
    /// What the machine counted.
    pub counts: Counts,
    /// Packets that were dropped, by what was wrong with them.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Changes, oldest first: when, to what, and why.
    pub changes: Vec<(SystemTime, State, String)>,
}

/// As written for people.
pub const fn name(state: State) -> &'static str {
    match state {
        State::Idle => "idle",
        State::Standby => "standby",
        State::Active => "active",
    }
}
