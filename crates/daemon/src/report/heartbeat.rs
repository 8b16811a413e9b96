//! Heartbeats as the API says them. Pure.

use std::collections::BTreeMap;

use api::types::{
    BeatPathStatus, HeartbeatStatus, PeerGroup, PeerReport, ReplicationStatus, TargetStatus,
    WitnessStatus,
};
use ha::beat::Claim;

use super::vitals::unix_ms;
use crate::vrrp::heartbeat::view::{BeatView, PathView, TargetView, WitnessView};
use crate::vrrp::replica::view::View as Replica;
use crate::vrrp::view::{View, name};

/// Every heartbeat.
pub fn status(view: &View) -> Vec<HeartbeatStatus> {
    view.heartbeats.iter().map(heartbeat).collect()
}

/// What was counted with every other member.
pub fn report(view: &View) -> Vec<PeerReport> {
    view.heartbeats.iter().map(peer).collect()
}

fn peer(view: &BeatView) -> PeerReport {
    let sum = |of: fn(&PathView) -> u64| view.paths.iter().map(of).sum::<u64>();
    let of_paths = [
        ("sent", sum(|path| path.sent)),
        ("not-sent", sum(|path| path.not_sent)),
        ("received", sum(|path| path.received)),
    ];
    let mut refused = BTreeMap::new();
    for (why, count) in view.paths.iter().flat_map(|path| &path.refused) {
        *refused.entry((*why).to_owned()).or_insert(0) += count;
    }
    let beats = of_paths.into_iter().chain(counts(view));
    PeerReport {
        peer: view.peer.clone(),
        beats: beats.map(|(name, count)| (name.to_owned(), count)).collect(),
        refused,
        replication: view.replica.as_deref().map(replication),
    }
}

fn heartbeat(view: &BeatView) -> HeartbeatStatus {
    let (state, reason) = standing(view);
    let said = view.said.as_ref();
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
        counts: counts(view).map(|(name, count)| (name.to_owned(), count)).into(),
        replication: view.replica.as_deref().map(replication),
        witness: view.witness.as_ref().map(witness),
    }
}

fn witness(view: &WitnessView) -> WitnessStatus {
    WitnessStatus {
        at: view.places.clone(),
        state: view.state.to_owned(),
        reason: view.said.clone(),
        since_unix_ms: unix_ms(view.since),
        held: view.held as u64,
        lent: view.lent as u64,
        counts: asked(view).map(|(name, count)| (name.to_owned(), count)).into(),
    }
}

/// What was counted of a witness, by name.
pub fn asked(view: &WitnessView) -> [(&'static str, u64); 3] {
    let [given, refused, unanswered] = view.counts;
    [("given", given), ("refused", refused), ("unanswered", unanswered)]
}

fn replication(view: &Replica) -> ReplicationStatus {
    let named = |counts: &BTreeMap<&'static str, u64>| {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    ReplicationStatus {
        state: view.state.name().to_owned(),
        counts: replicated(view).map(|(name, count)| (name.to_owned(), count)).into(),
        refused: named(&view.counts.refused),
        rejected: named(&view.rejected),
        untold: named(&view.untold),
    }
}

/// What was counted of replication, by name.
pub fn replicated(view: &Replica) -> [(&'static str, u64); 10] {
    let counts = &view.counts;
    [
        ("sent", counts.sent),
        ("received", counts.received),
        ("applied", view.applied),
        ("resynchronised", counts.again),
        ("prompt", counts.prompt),
        ("slow", counts.slow),
        ("packets", counts.packets),
        ("bytes", counts.bytes),
        ("syncs", counts.syncs),
        ("held-back", counts.held_back),
    ]
}

/// `up`, `degraded` or `down`, and why.
pub fn standing(view: &BeatView) -> (&'static str, String) {
    let (peer, all) = (&view.peer, view.paths.len());
    let good = view.paths.iter().filter(|path| path.state == "up").count();
    let mut parts = Vec::new();
    let state = if !view.heard {
        parts.push(match &view.trouble {
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
    if let (true, Some(why)) = (view.heard, &view.trouble) {
        parts.push(why.clone());
    }
    if let Some(drift) = &view.drift {
        parts.push(format!("{} and {peer} do not have the same {drift}", view.name));
    }
    if view.behind {
        parts.push(format!("{peer} reaches more"));
    }
    (state, parts.join("; "))
}

fn path(view: &PathView) -> BeatPathStatus {
    let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let refused = view.refused.iter().map(|(why, count)| ((*why).to_owned(), *count));
    BeatPathStatus {
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

fn target(view: &TargetView) -> TargetStatus {
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

fn group(claim: &Claim) -> PeerGroup {
    PeerGroup {
        id: claim.id,
        family: if claim.v6 { 6 } else { 4 },
        state: name(claim.state).to_owned(),
        priority: claim.priority,
    }
}

/// What was counted, by name.
pub fn counts(view: &BeatView) -> [(&'static str, u64); 2] {
    [("introductions", view.introductions), ("peer-processes", view.sessions)]
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn view(heard: bool, states: &[&'static str]) -> BeatView {
        let path = |state: &&'static str| PathView {
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
        BeatView {
            peer: "right".to_owned(),
            name: "left".to_owned(),
            heard,
            since: SystemTime::UNIX_EPOCH,
            said: None,
            generation: 1,
            drift: None,
            trouble: None,
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
            (path.sent, path.received) = (10, at as u64);
            path.refused.insert("replayed", 2);
        }
        let told = peer(&view);
        let beats = ["sent", "not-sent", "received", "introductions"].map(|name| told.beats[name]);
        assert_eq!((beats, told.refused["replayed"]), ([20, 0, 1, 0], 4));
    }

    #[test]
    fn every_standing_has_its_reason() {
        assert_eq!(standing(&view(true, &["up", "up"])), ("up", "all 2 paths are up".into()));
        let (state, why) = standing(&view(true, &["up", "one-way"]));
        assert_eq!((state, why.as_str()), ("degraded", "1 of 2 paths carry beats both ways"));
        let (state, why) = standing(&view(false, &["down"]));
        assert!(state == "down" && why.contains("advertisements alone"), "{why}");
        let drifts = BeatView { drift: Some("pools".into()), ..view(true, &["up"]) };
        assert_eq!(
            standing(&drifts).1,
            "its path is up; left and right do not have the same pools"
        );
    }
}
