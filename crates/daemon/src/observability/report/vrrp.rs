//! VRRP groups in the types of the API. Pure.

use std::collections::BTreeMap;

use api::types::{MemberChange, MemberReport, MemberStatus};
use ha::counts::VrrpCounters;

use super::counts::{ReportedCounter, counts_by_name};
use crate::planes::vrrp::view::{VrrpGroupView, VrrpTransition, VrrpView, state_name};
use crate::util::wall_clock::unix_ms;

pub fn status(view: &VrrpView) -> Vec<MemberStatus> {
    view.groups.iter().map(|(name, group)| member(name, group)).collect()
}

/// Counters of every group's member.
pub fn report(view: &VrrpView) -> Vec<MemberReport> {
    let member = |(group, view): (&String, &VrrpGroupView)| MemberReport {
        group: group.clone(),
        counts: counts_by_name(counts(&view.counts)),
        dropped: dropped(view),
        changes: view.changes.iter().map(change).collect(),
    };
    view.groups.iter().map(member).collect()
}

fn member(group: &str, view: &VrrpGroupView) -> MemberStatus {
    MemberStatus {
        name: group.to_owned(),
        interface: view.interface.clone(),
        id: view.id,
        addresses: view.addresses.clone(),
        state: state_name(view.state).to_owned(),
        reason: view.reason.clone(),
        since_unix_ms: unix_ms(view.since),
        priority: view.priority,
        active_peer: view.active_member.map(|heard| heard.source),
        active_peer_priority: view.active_member.map(|heard| heard.priority),
        changes: view.changes.iter().map(change).collect(),
        counts: counts_by_name(counts(&view.counts)),
        dropped: dropped(view),
    }
}

fn change(transition: &VrrpTransition) -> MemberChange {
    MemberChange {
        at_unix_ms: unix_ms(transition.at),
        state: state_name(transition.to).to_owned(),
        reason: transition.reason.clone(),
    }
}

fn dropped(view: &VrrpGroupView) -> BTreeMap<String, u64> {
    let all = view.dropped.iter().filter(|(_, count)| **count > 0);
    all.map(|(why, count)| ((*why).to_owned(), *count)).collect()
}

/// Counters of a VRRP state machine, by name.
pub fn counts(counts: &VrrpCounters) -> [ReportedCounter; 19] {
    [
        ("advertisements-sent", counts.sent),
        ("advertisements-received", counts.received),
        ("resignations-received", counts.resigned),
        ("other-version", counts.other_version),
        ("other-addresses", counts.other_addresses),
        ("foreign-addresses", counts.foreign),
        ("other-interval", counts.other_interval),
        ("rivals", counts.active_conflicts),
        ("notices", counts.notices),
        ("announcements", counts.announced),
        ("became-active", counts.takeovers),
        ("gave-up", counts.releases),
        ("withheld", counts.blocked_takeovers),
        ("stalled", counts.stalled),
        ("alone", counts.lost_quorum),
        ("asked-elsewhere", counts.duplicate_probes),
        ("doubled", counts.duplicates_found),
        ("defended", counts.defended),
        ("restored", counts.restored),
    ]
    .map(|(name, count)| ReportedCounter { name, count })
}
