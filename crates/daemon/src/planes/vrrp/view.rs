//! The view of VRRP groups, for `status` and metrics. The thread publishes it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::SystemTime;

use bpf::BlockedPackets;
use ha::counts::VrrpCounters;
use ha::state_machine::{MemberPrecedence, VrrpState};

use super::heartbeat::view::HeartbeatView;

#[derive(Clone, Debug, Default)]
pub struct VrrpView {
    pub groups: BTreeMap<String, VrrpGroupView>,
    /// Heartbeats with other members.
    pub heartbeats: Vec<HeartbeatView>,
    /// Packets of protocol 112 that belong to no group, by defect.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Packets that the dead-man timer's gate blocked; `None`: there is no gate.
    pub blocked_packets: Option<BlockedPackets>,
    /// Why the gate is missing although a group needs it.
    pub last_error: Option<String>,
}

#[derive(Clone, Debug)]
pub struct VrrpGroupView {
    pub interface: String,
    /// The virtual router's number.
    pub id: u8,
    pub addresses: Vec<IpAddr>,
    pub state: VrrpState,
    pub since: SystemTime,
    /// Why, in a sentence.
    pub reason: String,
    /// The priority that it has now.
    pub priority: u8,
    /// The last other member that advertised itself as active, and its priority.
    pub active_member: Option<MemberPrecedence>,
    /// Counters of the state machine.
    pub counts: VrrpCounters,
    /// Dropped packets, by defect.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Changes of state, oldest first.
    pub changes: Vec<VrrpTransition>,
}

/// A change of a group's state.
#[derive(Clone, Debug)]
pub struct VrrpTransition {
    pub at: SystemTime,
    pub to: VrrpState,
    /// Why, in a sentence.
    pub reason: String,
}

/// As written for people.
pub const fn state_name(state: VrrpState) -> &'static str {
    match state {
        VrrpState::Idle => "idle",
        VrrpState::Standby => "standby",
        VrrpState::Active => "active",
    }
}
