//! Heartbeats as tables: the other member, the paths to it, what both should reach.

use api::types::{HeartbeatStatus, Status};

use crate::show::paint::Colour;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::span;

/// The other member of each heartbeat.
pub(super) fn peers(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("PEER"),
        left("VERSION"),
        right("GENERATION"),
        left("REACHES"),
        left("STATE"),
    ]);
    for beat in &status.heartbeats {
        let HeartbeatStatus { peer, state, reason, since_unix_ms, .. } = beat;
        let age = span(status.now_unix_ms.saturating_sub(*since_unix_ms));
        let known = |count: Option<u16>| count.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let reaches = if beat.targets.is_empty() {
            "-".to_owned()
        } else {
            format!("{}, we {}", known(beat.peer_reached), known(beat.reached))
        };
        let unknown = || "?".to_owned();
        table.row(vec![
            peer.as_str().into(),
            beat.peer_version.clone().unwrap_or_else(unknown).into(),
            beat.peer_generation.map_or_else(unknown, |number| number.to_string()).into(),
            reaches.into(),
            TextCell::with_lead(state, colour(state), &format!(" {age}: {reason}")),
        ]);
    }
    table
}

/// The flow replication between both members.
pub(super) fn replication(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("REPLICATION"),
        right("SENT"),
        right("RECEIVED"),
        right("APPLIED"),
        right("AGAIN"),
        left("NOT APPLIED"),
        left("STATE"),
    ]);
    for beat in &status.heartbeats {
        let Some(one) = &beat.replication else { continue };
        let count = |name| one.counts.get(name).copied().unwrap_or(0).to_string();
        let whys = one.rejected.iter().chain(&one.unsent).chain(&one.refused);
        let whys: Vec<String> = whys.map(|(why, count)| format!("{why} {count}")).collect();
        table.row(vec![
            beat.peer.as_str().into(),
            count("sent").into(),
            count("received").into(),
            count("applied").into(),
            count("resynchronised").into(),
            if whys.is_empty() { "-".into() } else { whys.join("\n").into() },
            TextCell::with_lead(&one.state, colour(&one.state), ""),
        ]);
    }
    table
}

/// Who else has to agree.
pub(super) fn witnesses(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("WITNESS"),
        right("GIVEN"),
        right("REFUSED"),
        right("UNANSWERED"),
        left("STATE"),
    ]);
    for one in status.heartbeats.iter().filter_map(|beat| beat.witness.as_ref()) {
        let count = |name| one.counts.get(name).copied().unwrap_or(0).to_string();
        let age = span(status.now_unix_ms.saturating_sub(one.since_unix_ms));
        table.row(vec![
            one.address.as_str().into(),
            count("given").into(),
            count("refused").into(),
            count("unanswered").into(),
            TextCell::with_lead(&one.state, colour(&one.state), &format!(" {age}: {}", one.reason)),
        ]);
    }
    table
}

/// The paths of every heartbeat.
pub(super) fn paths(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("PATH"),
        right("ROUND TRIP"),
        right("LOSS"),
        left("REFUSED"),
        left("STATE"),
    ]);
    for path in status.heartbeats.iter().flat_map(|beat| &beat.paths) {
        let age = span(status.now_unix_ms.saturating_sub(path.since_unix_ms));
        let trip = path.round_trip_us.map(|micros| format!("{:.3} ms", micros as f64 / 1_000.0));
        let refused = path.refused.iter().map(|(why, count)| format!("{why} {count}"));
        let refused: Vec<String> = refused.collect();
        table.row(vec![
            path.name.as_str().into(),
            trip.unwrap_or_else(|| "?".to_owned()).into(),
            format!("{:.0} %", path.loss * 100.0).into(),
            if refused.is_empty() { "-".into() } else { refused.join("\n").into() },
            TextCell::with_lead(
                &path.state,
                colour(&path.state),
                &format!(" {age}: {}", path.reason),
            ),
        ]);
    }
    table
}

/// The targets that both members should reach.
pub(super) fn targets(status: &Status) -> TextTable {
    let mut table =
        TextTable::new(&[left("TARGET"), right("ANSWERED"), right("UNANSWERED"), left("STATE")]);
    for target in status.heartbeats.iter().flat_map(|beat| &beat.targets) {
        table.row(vec![
            target.name.as_str().into(),
            target.answered.to_string().into(),
            target.unanswered.to_string().into(),
            TextCell::with_lead(&target.state, colour(&target.state), ""),
        ]);
    }
    table
}

fn colour(state: &str) -> Colour {
    match state {
        "up" | "reached" | "following" | "held" | "answers" => Colour::Good,
        "unknown" | "off" | "meeting" | "joining" | "unasked" => Colour::Quiet,
        _ => Colour::Doubt,
    }
}
