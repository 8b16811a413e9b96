//! Shared addresses as the API says them. Pure.

use api::types::{MemberChange, MemberStatus};
use ha::counts::Counts;

use super::vitals::unix_ms;
use crate::vrrp::view::{GroupView, View, name};

/// Every group's member.
pub fn status(view: &View) -> Vec<MemberStatus> {
    view.groups.iter().map(|(name, group)| member(name, group)).collect()
}

fn member(group: &str, view: &GroupView) -> MemberStatus {
    let change = |(at, state, reason): &(_, _, String)| MemberChange {
        at_unix_ms: unix_ms(*at),
        state: name(*state).to_owned(),
        reason: reason.clone(),
    };
    let counts = counts(&view.counts).map(|(name, count)| (name.to_owned(), count));
    let dropped = view.dropped.iter().map(|(why, count)| ((*why).to_owned(), *count));
    MemberStatus {
        name: group.to_owned(),
        interface: view.interface.clone(),
        id: view.id,
        addresses: view.addresses.clone(),
        state: name(view.state).to_owned(),
        reason: view.reason.clone(),
        since_unix_ms: unix_ms(view.since),
        priority: view.priority,
        heard: view.heard.map(|(source, _)| source),
        heard_priority: view.heard.map(|(_, priority)| priority),
        changes: view.changes.iter().map(change).collect(),
        counts: counts.into_iter().collect(),
        dropped: dropped.filter(|(_, count)| *count > 0).collect(),
    }
}

/// What a machine counted, by name.
pub fn counts(counts: &Counts) -> [(&'static str, u64); 12] {
    [
        ("advertisements-sent", counts.sent),
        ("advertisements-received", counts.received),
        ("resignations-received", counts.resigned),
        ("other-version", counts.other_version),
        ("other-addresses", counts.other_addresses),
        ("other-interval", counts.other_interval),
        ("rivals", counts.rivals),
        ("announcements", counts.announced),
        ("became-active", counts.taken),
        ("gave-up", counts.given),
        ("withheld", counts.withheld),
        ("stalled", counts.stalled),
    ]
}
