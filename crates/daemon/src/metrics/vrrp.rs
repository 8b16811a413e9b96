//! What is counted of shared addresses. Nothing where none is shared.

use std::fmt::Error;

use ha::machine::State;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::{counters, gauges};
use crate::report::vrrp::counts;
use crate::vrrp::view::{GroupView, View, name};

pub(super) fn encode(view: &View, to: &mut DescriptorEncoder) -> Result<(), Error> {
    if view.groups.is_empty() {
        return Ok(());
    }
    let states = view.groups.iter().flat_map(|(group, one)| {
        [State::Idle, State::Standby, State::Active].map(|state| {
            let labels = [("group", group.as_str()), ("state", name(state))];
            (labels, if one.state == state { 1.0 } else { 0.0 })
        })
    });
    let help = "1 for the state that this member of the group has.";
    gauges(to, ("steelyard_vrrp_state", None, help), states)?;
    let each = |value: fn(&GroupView) -> f64| {
        view.groups.iter().map(move |(group, one)| ([("group", group.as_str())], value(one)))
    };
    let help = "The priority that this member has now.";
    gauges(to, ("steelyard_vrrp_priority", None, help), each(|one| f64::from(one.priority)))?;
    let counted = view.groups.iter().flat_map(|(group, one)| {
        let labels = move |what| [("group", group.as_str()), ("what", what)];
        counts(&one.counts).map(|(what, count)| (labels(what), count))
    });
    let help = "Advertisements, announcements and changes of this member.";
    counters(to, ("steelyard_vrrp", None, help), counted)?;
    let of_groups = view.groups.iter().flat_map(|(group, one)| {
        one.dropped
            .iter()
            .map(move |(why, count)| ([("group", group.as_str()), ("why", why)], *count))
    });
    let of_none = view.dropped.iter().map(|(why, count)| ([("group", ""), ("why", *why)], *count));
    let help = "Packets of protocol 112 that were dropped, or not sent, by why.";
    counters(to, ("steelyard_vrrp_dropped", None, help), of_groups.chain(of_none))?;
    let Some(shut) = view.shut else { return Ok(()) };
    let kinds = [("resolution", shut.resolution), ("in", shut.inward), ("out", shut.outward)];
    let help = "Packets kept from passing because the shared address was not held any more.";
    let rows = kinds.map(|(kind, count)| ([("kind", kind)], count));
    counters(to, ("steelyard_vrrp_gate_shut", None, help), rows)
}
