//! Heartbeats in the types of the API. Pure.

use std::collections::BTreeMap;

use api::types::{
    HeartbeatPathStatus, HeartbeatStatus, PeerGroup, PeerReport, ReplicationStatus, TargetStatus,
    WitnessStatus,
};
use ha::heartbeat::GroupClaim;

use super::counts::{ReportedCounter, counts_by_name};
use crate::planes::vrrp::heartbeat::replication_view::ReplicationView as Replica;
use crate::planes::vrrp::heartbeat::view::{
    HeartbeatPathView, HeartbeatView, ReachTargetView, WitnessView,
};
use crate::planes::vrrp::view::{VrrpView, state_name};
use crate::util::wall_clock::unix_ms;

pub fn status(view: &VrrpView) -> Vec<HeartbeatStatus> {
    view.heartbeats.iter().map(heartbeat).collect()
}

/// Counters of every peer.
pub fn heartbeat_reports(view: &VrrpView) -> Vec<PeerReport> {
    view.heartbeats.iter().map(peer).collect()
}

fn peer(view: &HeartbeatView) -> PeerReport {
    let sum = |of: fn(&HeartbeatPathView) -> u64| view.paths.iter().map(of).sum::<u64>();
    let of_paths = [
        ("sent", sum(|path| path.sent)),
        ("not-sent", sum(|path| path.not_sent)),
        ("received", sum(|path| path.received)),
    ]
    .map(|(name, count)| ReportedCounter { name, count });
    let mut refused = BTreeMap::new();
    for (why, count) in view.paths.iter().flat_map(|path| &path.refused) {
        *refused.entry((*why).to_owned()).or_insert(0) += count;
    }
    let beats = of_paths.into_iter().chain(counts(view));
    PeerReport {
        peer: view.peer.clone(),
        heartbeats: counts_by_name(beats),
        refused,
        replication: view.replica.as_deref().map(replication),
    }
}

fn heartbeat(view: &HeartbeatView) -> HeartbeatStatus {
    let PeerCondition { state, reason } = peer_condition(view);
    let said = view.last_heartbeat.as_ref();
    let claims = said.map(|beat| beat.claims.as_slice()).unwrap_or_default();
    HeartbeatStatus {
        peer: view.peer.clone(),
        name: view.name.clone(),
        state: state.to_owned(),
        reason,
        since_unix_ms: unix_ms(view.since),
        peer_version: said.map(|beat| beat.product.clone()),
        peer_protocol: said.map(|beat| beat.version),
        generation: view.generation,
        peer_generation: said.map(|beat| beat.config.generation),
        drift: view.drift.clone(),
        keys: view.keys.clone(),
        paths: view.paths.iter().map(path).collect(),
        targets: view.targets.iter().map(target).collect(),
        reached: view.reach.map(|score| score.reached),
        peer_reached: said.and_then(|beat| beat.reach).map(|score| score.reached),
        behind: view.behind,
        groups: claims.iter().map(group).collect(),
        counts: counts_by_name(counts(view)),
        replication: view.replica.as_deref().map(replication),
        witness: view.witness.as_ref().map(witness),
    }
}

fn witness(view: &WitnessView) -> WitnessStatus {
    WitnessStatus {
        address: view.places.clone(),
        state: view.state.to_owned(),
        reason: view.last_answer.clone(),
        since_unix_ms: unix_ms(view.since),
        leases_held: view.leases_held as u64,
        votes_lent: view.votes_granted as u64,
        counts: counts_by_name(witness_counts(view)),
    }
}

/// Counters of a witness, by name.
pub fn witness_counts(view: &WitnessView) -> [ReportedCounter; 3] {
    let [given, refused, unanswered] = view.counts;
    [("given", given), ("refused", refused), ("unanswered", unanswered)]
        .map(|(name, count)| ReportedCounter { name, count })
}

fn replication(view: &Replica) -> ReplicationStatus {
    let named = |counts: &BTreeMap<&'static str, u64>| {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    ReplicationStatus {
        state: view.state.name().to_owned(),
        counts: counts_by_name(replication_counts(view)),
        refused: named(&view.counts.refused),
        rejected: named(&view.rejected),
        unsent: named(&view.unsendable),
    }
}

/// Counters of replication, by name.
pub fn replication_counts(view: &Replica) -> [ReportedCounter; 10] {
    let counts = &view.counts;
    [
        ("sent", counts.sent),
        ("received", counts.received),
        ("applied", view.applied),
        ("resynchronised", counts.resent),
        ("prompt", counts.timely),
        ("slow", counts.slow),
        ("packets", counts.packets),
        ("bytes", counts.bytes),
        ("syncs", counts.syncs),
        ("held-back", counts.window_full),
    ]
    .map(|(name, count)| ReportedCounter { name, count })
}

/// How well the other member is heard.
#[derive(Debug, PartialEq, Eq)]
struct PeerCondition {
    /// `up`, `degraded` or `down`.
    state: &'static str,
    reason: String,
}

fn peer_condition(view: &HeartbeatView) -> PeerCondition {
    let peer = &view.peer;
    let all = view.paths.len();
    let good = view.paths.iter().filter(|path| path.state == "up").count();
    let mut parts = Vec::new();
    let state = if !view.is_peer_up {
        parts.push(match &view.last_error {
            Some(why) => why.clone(),
            None => format!("{peer} is heard by no path: advertisements alone say who is active"),
        });
        "down"
    } else if good < all {
        parts.push(format!("{good} of {all} paths carry beats both ways"));
        "degraded"
    } else {
        parts.push(if all == 1 {
            "its path is up".into()
        } else {
            format!("all {all} paths are up")
        });
        "up"
    };
    if let (true, Some(why)) = (view.is_peer_up, &view.last_error) {
        parts.push(why.clone());
    }
    if let Some(drift) = &view.drift {
        parts.push(format!("{} and {peer} do not have the same {drift}", view.name));
    }
    if view.behind {
        parts.push(format!("{peer} reaches more"));
    }
    PeerCondition { state, reason: parts.join("; ") }
}

fn path(view: &HeartbeatPathView) -> HeartbeatPathStatus {
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let refused = view.refused.iter().map(|(why, count)| ((*why).to_owned(), *count));
    HeartbeatPathStatus {
        name: view.name.clone(),
        state: view.state.to_owned(),
        reason: view.reason.clone(),
        since_unix_ms: unix_ms(view.since),
        round_trip_us: view.round_trip.map(micros),
        loss: view.loss,
        sent: view.sent,
        not_sent: view.not_sent,
        received: view.received,
        refused: refused.collect(),
    }
}

fn target(view: &ReachTargetView) -> TargetStatus {
    let state = match view.reached {
        Some(true) => "reached",
        Some(false) => "lost",
        None => "unknown",
    };
    TargetStatus {
        name: view.name.clone(),
        state: state.to_owned(),
        answered: view.answered,
        unanswered: view.unanswered,
    }
}

fn group(claim: &GroupClaim) -> PeerGroup {
    PeerGroup {
        id: claim.id,
        family: if claim.v6 { 6 } else { 4 },
        state: state_name(claim.state).to_owned(),
        priority: claim.priority,
    }
}

/// Counters of a heartbeat, by name.
pub fn counts(view: &HeartbeatView) -> [ReportedCounter; 2] {
    [("introductions", view.introductions), ("peer-processes", view.sessions)]
        .map(|(name, count)| ReportedCounter { name, count })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn view(heard: bool, states: &[&'static str]) -> HeartbeatView {
        let path = |state: &&'static str| HeartbeatPathView {
            name: "a".to_owned(),
            state,
            reason: String::new(),
            since: SystemTime::UNIX_EPOCH,
            round_trip: None,
            loss: 0.0,
            sent: 0,
            not_sent: 0,
            received: 0,
            refused: BTreeMap::new(),
        };
        HeartbeatView {
            peer: "right".to_owned(),
            name: "left".to_owned(),
            is_peer_up: heard,
            since: SystemTime::UNIX_EPOCH,
            last_heartbeat: None,
            generation: 1,
            drift: None,
            last_error: None,
            keys: vec![1],
            paths: states.iter().map(path).collect(),
            targets: Vec::new(),
            reach: None,
            behind: false,
            introductions: 0,
            sessions: 0,
            witness: None,
            replica: None,
        }
    }

    #[test]
    fn a_report_sums_what_all_paths_counted() {
        let mut view = view(true, &["up", "down"]);
        for (at, path) in view.paths.iter_mut().enumerate() {
            path.sent = 10;
            path.received = at as u64;
            path.refused.insert("replayed", 2);
        }
        let told = peer(&view);
        let beats =
            ["sent", "not-sent", "received", "introductions"].map(|name| told.heartbeats[name]);
        assert_eq!((beats, told.refused["replayed"]), ([20, 0, 1, 0], 4));
    }

    #[test]
    fn every_standing_has_its_reason() {
        let found = |heard, states: &[&'static str]| peer_condition(&view(heard, states));
        let expected = PeerCondition { state: "up", reason: "all 2 paths are up".into() };
        assert_eq!(found(true, &["up", "up"]), expected);
        let reason = "1 of 2 paths carry beats both ways".into();
        let expected = PeerCondition { state: "degraded", reason };
        assert_eq!(found(true, &["up", "one-way"]), expected);
        let PeerCondition { state, reason } = found(false, &["down"]);
        assert!(state == "down" && reason.contains("advertisements alone"), "{reason}");
        let drifts = HeartbeatView { drift: Some("pools".into()), ..view(true, &["up"]) };
        assert_eq!(
            peer_condition(&drifts).reason,
            "its path is up; left and right do not have the same pools"
        );
    }
}
