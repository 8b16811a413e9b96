//! What stands above the table: what passes in all, and how much room is left. Pure.

use api::types::{PortReport, ServerStatus};

use super::rows::{failures, whole};
use super::snapshot::Snapshot;
use crate::show::unit::{bytes, count, micros, rate, span};

/// Who this is, and what passes.
pub fn title(snapshot: &Snapshot) -> String {
    let Snapshot { status, report } = snapshot;
    let total = &report.total;
    let time = |micros_or_none: Option<u64>| micros_or_none.map_or_else(|| "-".to_owned(), micros);
    let mut text = format!(
        "steelyard {} generation {}, up {}: {} requests/s, {} failed/s, p50 {}, p99 {}, {} in flight",
        status.version,
        status.generation,
        span(status.uptime_ms),
        rate(total.requests.requests.rate),
        rate(failures(&total.causes)),
        time(whole(&total.phases, |phase| phase.p50_us)),
        time(whole(&total.phases, |phase| phase.p99_us)),
        count(total.requests.in_flight),
    );
    if let Some(packets) = &report.packets {
        text.push_str(&format!("; {} packets/s", rate(packets.received.rate)));
    }
    text.push_str(&format!(", over {}", span(report.interval_ms)));
    text
}

/// What is scarce, and how much of it is left; whether it is scarce by now.
pub fn headroom(snapshot: &Snapshot) -> (String, bool) {
    let process = &snapshot.report.process;
    let files = process.descriptors;
    let mut scarce = short(files.in_use, files.limit);
    let mut parts = vec![format!("descriptors {} of {}", count(files.in_use), count(files.limit))];
    let tightest = |port: &&PortReport| port.left;
    if let Some(port) = snapshot.report.ports.iter().min_by_key(tightest) {
        let all = u64::from(port.in_use) + u64::from(port.left);
        scarce |= short(u64::from(port.in_use), all);
        let (left, all) = (count(u64::from(port.left)), count(all));
        parts.push(format!("source ports left {left} of {all} to {}", port.destination));
    }
    let servers = snapshot
        .status
        .pools
        .iter()
        .flat_map(|pool| pool.servers.iter().map(move |server| (pool.name.as_str(), server)));
    let capped = servers.filter_map(|(pool, server)| Some((pool, server, server.cap?)));
    let fullest = |(_, server, cap): &(&str, &ServerStatus, u32)| {
        u64::from(server.connections) * 1000 / u64::from(*cap).max(1)
    };
    if let Some((pool, server, cap)) = capped.max_by_key(fullest) {
        scarce |= short(u64::from(server.connections), u64::from(cap));
        let (open, cap) = (count(u64::from(server.connections)), count(u64::from(cap)));
        parts.push(format!("connections {open} of {cap} to {pool}/{}", server.name));
    }
    parts.push(format!("resident {}", bytes(process.resident_bytes)));
    (format!("headroom: {}", parts.join("; ")), scarce)
}

/// Four fifths are in use, from which on the daemon alarms too.
fn short(used: u64, all: u64) -> bool {
    all > 0 && used.saturating_mul(5) >= all.saturating_mul(4)
}
