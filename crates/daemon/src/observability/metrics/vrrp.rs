//! What is counted of shared addresses. Nothing where none is shared.

use std::fmt::Error;

use ha::state_machine::VrrpState;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::{counters, gauges};
use crate::observability::report::vrrp::counts;
use crate::planes::vrrp::view::{VrrpGroupView, VrrpView, state_name};

pub(super) fn encode(view: &VrrpView, to: &mut DescriptorEncoder) -> Result<(), Error> {
    if view.groups.is_empty() {
        return Ok(());
    }
    let states = view.groups.iter().flat_map(|(group, one)| {
        [VrrpState::Idle, VrrpState::Standby, VrrpState::Active].map(|state| {
            let labels = [("group", group.as_str()), ("state", state_name(state))];
            (labels, if one.state == state { 1.0 } else { 0.0 })
        })
    });
    let help = "1 for this member's state in the group.";
    gauges(to, "steelyard_vrrp_state", None, help, states)?;
    let each = |value: fn(&VrrpGroupView) -> f64| {
        view.groups.iter().map(move |(group, one)| ([("group", group.as_str())], value(one)))
    };
    let help = "This member's current priority in the group.";
    gauges(to, "steelyard_vrrp_priority", None, help, each(|one| f64::from(one.priority)))?;
    let counted = view.groups.iter().flat_map(|(group, one)| {
        let labels = move |kind| [("group", group.as_str()), ("kind", kind)];
        counts(&one.counts).map(|it| (labels(it.name), it.count))
    });
    let help = "Advertisements, gratuitous ARP or neighbour announcements, and state changes of this member.";
    counters(to, "steelyard_vrrp", None, help, counted)?;
    let of_groups = view.groups.iter().flat_map(|(group, one)| {
        one.dropped
            .iter()
            .map(move |(reason, count)| ([("group", group.as_str()), ("reason", reason)], *count))
    });
    let of_none = view.dropped.iter();
    let of_none = of_none.map(|(reason, count)| ([("group", ""), ("reason", *reason)], *count));
    let help = "VRRP packets (protocol 112) that were dropped, or not sent, by reason.";
    counters(to, "steelyard_vrrp_dropped", None, help, of_groups.chain(of_none))?;
    let Some(shut) = view.blocked_packets else { return Ok(()) };
    let kinds = [("resolution", shut.resolution), ("in", shut.inbound), ("out", shut.outbound)];
    let help =
        "Packets that fencing dropped because this member no longer held the virtual address.";
    let rows = kinds.map(|(kind, count)| ([("kind", kind)], count));
    counters(to, "steelyard_vrrp_fenced", None, help, rows)
}
