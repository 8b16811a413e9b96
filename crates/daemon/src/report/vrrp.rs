//! Shared addresses as the API says them. Pure.

use std::collections::BTreeMap;
use std::time::SystemTime;

use api::types::{MemberChange, MemberReport, MemberStatus};
use ha::counts::Counts;
use ha::machine::State;

use super::vitals::unix_ms;
use crate::vrrp::view::{GroupView, View, name};

/// Every group's member.
pub fn status(view: &View) -> Vec<MemberStatus> {
    view.groups.iter().map(|(name, group)| member(name, group)).collect()
}

/// What every group's member counted.
pub fn report(view: &View) -> Vec<MemberReport> {
    let member = |(group, view): (&String, &GroupView)| MemberReport {
        group: group.clone(),
        counts: named(&counts(&view.counts)),
        dropped: dropped(view),
        changes: view.changes.iter().map(change).collect(),
    };
    view.groups.iter().map(member).collect()
}

fn member(group: &str, view: &GroupView) -> MemberStatus {
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
        counts: named(&counts(&view.counts)),
        dropped: dropped(view),
    }
}

fn change((at, state, reason): &(SystemTime, State, String)) -> MemberChange {
    MemberChange {
        at_unix_ms: unix_ms(*at),
        state: name(*state).to_owned(),
        reason: reason.clone(),
    }
}

fn named(counts: &[(&'static str, u64)]) -> BTreeMap<String, u64> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn dropped(view: &GroupView) -> BTreeMap<String, u64> {
    let all = view.dropped.iter().filter(|(_, count)| **count > 0);
    all.map(|(why, count)| ((*why).to_owned(), *count)).collect()
}

/// What a machine counted, by name.
pub fn counts(counts: &Counts) -> [(&'static str, u64); 19] {
    [
        ("advertisements-sent", counts.sent),
        ("advertisements-received", counts.received),
        ("resignations-received", counts.resigned),
        ("other-version", counts.other_version),
        ("other-addresses", counts.other_addresses),
        ("foreign-addresses", counts.foreign),
        ("other-interval", counts.other_interval),
        ("rivals", counts.rivals),
        ("notices", counts.notices),
        ("announcements", counts.announced),
        ("became-active", counts.taken),
        ("gave-up", counts.given),
        ("withheld", counts.withheld),
        ("stalled", counts.stalled),
        ("alone", counts.alone),
        ("asked-elsewhere", counts.asked_elsewhere),
        ("doubled", counts.doubled),
        ("defended", counts.defended),
        ("restored", counts.restored),
    ]
}
