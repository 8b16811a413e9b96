//! The text above the table: total traffic, and the room that is left. Pure.

use api::types::{AlarmSeverity, PortReport, ServerStatus, StandingAlarm};

use super::rows::total_quantile;
use super::snapshot::TopSnapshot;
use crate::show::error_cell::share_text;
use crate::show::unit::{bytes, count, micros, rate, span};

/// The daemon's name, and its total traffic.
pub fn title(snapshot: &TopSnapshot) -> String {
    let TopSnapshot { status, report } = snapshot;
    let total = &report.total;
    let time = |micros_or_none: Option<u64>| micros_or_none.map_or_else(|| "-".to_owned(), micros);
    let mut text = format!(
        "steelyard {} generation {}, up {}: {} requests/s, {} errors/s ({}), p50 {}, p99 {}, {} in flight",
        status.version,
        status.generation,
        span(status.uptime_ms),
        rate(total.requests.requests.rate),
        rate(total.errors.errors.rate),
        share_text(&total.errors),
        time(total_quantile(&total.phases, |phase| phase.p50_us)),
        time(total_quantile(&total.phases, |phase| phase.p99_us)),
        count(total.requests.in_flight),
    );
    if let Some(packets) = &report.packets {
        text.push_str(&format!("; {} packets/s", rate(packets.received.rate)));
    }
    text.push_str(&format!(", over {}", span(report.interval_ms)));
    text
}

/// Alarms that stand, the gravest first. Notices are left out: the table shows them.
pub fn alarms(snapshot: &TopSnapshot) -> Vec<&StandingAlarm> {
    let all = snapshot.status.alarms.iter();
    all.filter(|alarm| alarm.severity != AlarmSeverity::Notice).collect()
}

/// An alarm as one line.
pub fn alarm_text(alarm: &StandingAlarm, now_unix_ms: u64) -> String {
    let StandingAlarm { severity, subject, reason, since_unix_ms, .. } = alarm;
    let age = since_unix_ms.map(|since| span(now_unix_ms.saturating_sub(since)));
    let age = age.map(|age| format!(" for {age}")).unwrap_or_default();
    format!("{}: {subject}{age}: {reason}", severity.name())
}

/// A limit, and how much of it is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitGauge {
    /// The limited resource, and how much of it there is, in words.
    pub text: String,
    pub used: u64,
    pub all: u64,
}

impl LimitGauge {
    /// The part that is in use, from 0 to 1.
    pub fn ratio(&self) -> f64 {
        if self.all == 0 { 0.0 } else { (self.used as f64 / self.all as f64).clamp(0.0, 1.0) }
    }

    /// Four fifths are in use, from which on the daemon alarms too.
    pub fn is_short(&self) -> bool {
        self.all > 0 && self.used.saturating_mul(5) >= self.all.saturating_mul(4)
    }
}

/// Resources that may become scarce: descriptors, the fewest source ports, the fullest server of those with a limit.
pub fn limits(snapshot: &TopSnapshot) -> Vec<LimitGauge> {
    let files = snapshot.report.process.descriptors;
    let text = format!("descriptors {} of {}", count(files.in_use), count(files.limit));
    let mut limits = vec![LimitGauge { text, used: files.in_use, all: files.limit }];
    let tightest = |port: &&PortReport| port.free;
    if let Some(port) = snapshot.report.ports.iter().min_by_key(tightest) {
        let used = u64::from(port.in_use);
        let all = used + u64::from(port.free);
        let left = count(u64::from(port.free));
        let text = format!("source ports left {left} of {} to {}", count(all), port.destination);
        limits.push(LimitGauge { text, used, all });
    }
    let servers = snapshot
        .status
        .pools
        .iter()
        .flat_map(|pool| pool.servers.iter().map(move |server| (pool.name.as_str(), server)));
    let capped = servers.filter_map(|(pool, server)| Some((pool, server, server.max_connections?)));
    let fullest = |(_, server, cap): &(&str, &ServerStatus, u32)| {
        u64::from(server.connections) * 1000 / u64::from(*cap).max(1)
    };
    if let Some((pool, server, cap)) = capped.max_by_key(fullest) {
        let used = u64::from(server.connections);
        let all = u64::from(cap);
        let open = count(used);
        let cap = count(all);
        let text = format!("connections {open} of {cap} to {pool}/{}", server.name);
        limits.push(LimitGauge { text, used, all });
    }
    limits
}

/// The resident memory of the process.
pub fn resident(snapshot: &TopSnapshot) -> String {
    format!("resident {}", bytes(snapshot.report.process.resident_bytes))
}

/// The room below all limits, as one sentence.
pub struct HeadroomSummary {
    pub text: String,
    /// Whether one of the limits is nearly reached.
    pub scarce: bool,
}

/// All limits in a sentence.
pub fn headroom(snapshot: &TopSnapshot) -> HeadroomSummary {
    let limits = limits(snapshot);
    let scarce = limits.iter().any(LimitGauge::is_short);
    let mut parts: Vec<String> = limits.into_iter().map(|limit| limit.text).collect();
    parts.push(resident(snapshot));
    HeadroomSummary { text: format!("headroom: {}", parts.join("; ")), scarce }
}
