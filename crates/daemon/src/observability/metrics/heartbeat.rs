//! What is counted of heartbeats. Nothing where there is none.

use std::collections::BTreeMap;
use std::fmt::Error;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Unit;

use super::family::{counters, gauges};
use crate::observability::report::heartbeat::{counts, replication_counts, witness_counts};
use crate::planes::vrrp::heartbeat::replication_view::{ReplicationState, ReplicationView};
use crate::planes::vrrp::heartbeat::view::{HeartbeatPathView, HeartbeatView};
use crate::planes::vrrp::view::VrrpView as Shared;

pub(super) fn encode(view: &Shared, to: &mut DescriptorEncoder) -> Result<(), Error> {
    let beats = &view.heartbeats;
    if beats.is_empty() {
        return Ok(());
    }
    let each = |value: fn(&HeartbeatView) -> bool| {
        beats
            .iter()
            .map(move |beat| ([("peer", beat.peer.as_str())], if value(beat) { 1.0 } else { 0.0 }))
    };
    let help = "1 while heartbeats of the peer arrive on any path.";
    gauges(to, "steelyard_heartbeat_heard", None, help, each(|beat| beat.is_peer_up))?;
    let help = "1 while the configurations of both members differ.";
    gauges(to, "steelyard_heartbeat_drift", None, help, each(|beat| beat.drift.is_some()))?;
    let help = "1 while the peer has reached more targets for long enough.";
    gauges(to, "steelyard_heartbeat_behind", None, help, each(|beat| beat.behind))?;
    let counted = beats.iter().flat_map(|beat| {
        let labels = move |kind| [("peer", beat.peer.as_str()), ("kind", kind)];
        counts(beat).map(|it| (labels(it.name), it.count))
    });
    let help = "Heartbeats that did not know this process yet, and processes of the peer.";
    counters(to, "steelyard_heartbeat", None, help, counted)?;
    replication(beats, to)?;
    witness(beats, to)?;
    paths(beats, to)?;
    targets(beats, to)
}

fn replication(beats: &[HeartbeatView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let all =
        || beats.iter().filter_map(|beat| Some((beat.peer.as_str(), beat.replica.as_deref()?)));
    let following = all().map(|(peer, view)| {
        ([("peer", peer)], if view.state == ReplicationState::Following { 1.0 } else { 0.0 })
    });
    let help = "1 while connection replication is in sync in both directions.";
    gauges(to, "steelyard_replication_following", None, help, following)?;
    let counted = all().flat_map(|(peer, view)| {
        replication_counts(view).map(|it| ([("peer", peer), ("kind", it.name)], it.count))
    });
    let help = "Replication of connections and sticky sessions: records, packets, bytes.";
    counters(to, "steelyard_replication", None, help, counted)?;
    let by_reason = |of: fn(&ReplicationView) -> &BTreeMap<&'static str, u64>| {
        all().flat_map(move |(peer, view)| {
            of(view)
                .iter()
                .map(move |(reason, count)| ([("peer", peer), ("reason", *reason)], *count))
        })
    };
    let help = "Replication packets that were refused, by reason.";
    counters(
        to,
        "steelyard_replication_refused",
        None,
        help,
        by_reason(|view| &view.counts.refused),
    )?;
    let help = "Replication records that were not applied, by reason.";
    counters(to, "steelyard_replication_rejected", None, help, by_reason(|view| &view.rejected))?;
    let help = "Entries that could not be replicated, by reason.";
    counters(to, "steelyard_replication_unsent", None, help, by_reason(|view| &view.unsendable))
}

fn witness(beats: &[HeartbeatView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let all = || beats.iter().filter_map(|beat| Some((beat.peer.as_str(), beat.witness.as_ref()?)));
    let states = all().flat_map(|(peer, one)| {
        ["held", "answers", "silent", "unasked"].map(|state| {
            ([("peer", peer), ("state", state)], if one.state == state { 1.0 } else { 0.0 })
        })
    });
    let help = "1 for the state of the witness as this member knows it.";
    gauges(to, "steelyard_witness_state", None, help, states)?;
    let counted = all().flat_map(|(peer, one)| {
        witness_counts(one).map(|it| ([("peer", peer), ("result", it.name)], it.count))
    });
    let help = "Leases that the witness granted and refused, and requests that it did not answer.";
    counters(to, "steelyard_witness_asked", None, help, counted)
}

fn paths(beats: &[HeartbeatView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let all = || beats.iter().flat_map(|beat| beat.paths.iter().map(move |path| (beat, path)));
    fn labels<'v>(
        beat: &'v HeartbeatView,
        path: &'v HeartbeatPathView,
    ) -> [(&'static str, &'v str); 2] {
        [("peer", &beat.peer), ("path", &path.name)]
    }
    let states = all().flat_map(|(beat, path)| {
        ["up", "one-way", "down"].map(|state| {
            let labels = [("peer", beat.peer.as_str()), ("path", &path.name), ("state", state)];
            (labels, if path.state == state { 1.0 } else { 0.0 })
        })
    });
    let help = "1 for the state of the path.";
    gauges(to, "steelyard_heartbeat_path_state", None, help, states)?;
    let loss = all().map(|(beat, path)| (labels(beat, path), path.loss));
    let help = "Share of the last heartbeats that were lost on the path, 0-1.";
    gauges(to, "steelyard_heartbeat_path_loss", Some(Unit::Ratios), help, loss)?;
    let trips =
        all().filter_map(|(beat, path)| Some((labels(beat, path), path.round_trip?.as_secs_f64())));
    let help = "Minimum of the last round trips on the path.";
    gauges(to, "steelyard_heartbeat_path_round_trip", Some(Unit::Seconds), help, trips)?;
    let beats = all().flat_map(|(beat, path)| {
        let counts =
            [("sent", path.sent), ("not-sent", path.not_sent), ("received", path.received)];
        counts.map(|(kind, count)| {
            ([("peer", beat.peer.as_str()), ("path", &path.name), ("kind", kind)], count)
        })
    });
    let help = "Heartbeats on the path.";
    counters(to, "steelyard_heartbeat_path_beats", None, help, beats)?;
    let refused = all().flat_map(|(beat, path)| {
        path.refused.iter().map(move |(reason, count)| {
            let labels =
                [("peer", beat.peer.as_str()), ("path", path.name.as_str()), ("reason", *reason)];
            (labels, *count)
        })
    });
    let help = "Packets of the path that were refused, by reason.";
    counters(to, "steelyard_heartbeat_path_refused", None, help, refused)
}

fn targets(beats: &[HeartbeatView], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let all =
        || beats.iter().flat_map(|beat| beat.targets.iter().map(move |target| (beat, target)));
    let reached = all().filter_map(|(beat, target)| {
        let labels = [("peer", beat.peer.as_str()), ("target", target.name.as_str())];
        Some((labels, if target.reached? { 1.0 } else { 0.0 }))
    });
    let help = "1 while the target is reachable; absent before the first check.";
    gauges(to, "steelyard_heartbeat_target_reached", None, help, reached)?;
    let asked = all().flat_map(|(beat, target)| {
        let counts = [("answered", target.answered), ("unanswered", target.unanswered)];
        counts.map(|(result, count)| {
            ([("peer", beat.peer.as_str()), ("target", &target.name), ("result", result)], count)
        })
    });
    let help = "Checks of the target.";
    counters(to, "steelyard_heartbeat_target_asked", None, help, asked)
}
