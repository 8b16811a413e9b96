//! Warns before a limit is reached: connections of a service, descriptors, ports, processors, the expiry of a
//! certificate. An event is sent when the limit comes near and another when it is far again. Circuit breakers and
//! queues are reported alike.
//!
//! Raise and clear thresholds lie apart (hysteresis), so that a value near one of them does not repeat the event. It
//! limits nothing.

mod certificates;
mod circuit_breaker;
mod connection_limits;
mod limit_usage;
mod utilization;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::circuit_breaker::breaker_clock_ms;
use model::config::EventLevel;

use crate::observability::headroom::{HeadroomRow, ResourceKey, ResourceUsage, UsageTrends};
use crate::observability::report::report_sources::ReportSources;
use crate::util::event::{EventFields, EventLog};
use crate::util::time_wait::TimeWaitScanner;
use crate::util::wall_clock::unix_ms;
use certificates::CertificateExpiryAlarms;
use circuit_breaker::CircuitBreakerAlarms;
use connection_limits::ConnectionLimitAlarms;
use limit_usage::collect_usage;
use utilization::UtilizationSampler;

/// Between two looks: alarms are for people, and each look costs a scan of the kernel's tables.
const STEP: Duration = Duration::from_secs(2);
/// The longest time between two looks: certificates expire, and other programs use the machine too.
const LONGEST_STEP: Duration = Duration::from_secs(60);
/// Percent of a limit from which it is near.
/// A fifth is left, so that there is time to act.
const NEAR: u64 = 80;
/// A limit's alarm ends below this percentage.
/// Ten percent below the start, so that use at the edge does not raise and end alarms in turns.
const FAR: u64 = 70;
/// Percent below which nothing is near, however it grows.
const HALF: u64 = 50;
/// A limit that the current trend reaches within this time raises an alarm.
/// A minute is the time in which an operator can act; forecasts beyond it are noise.
const SOON: Duration = Duration::from_secs(60);
/// The limit of stored alarms. Further alarms are not stored, so they may be logged repeatedly.
const REMEMBERED: usize = 10_000;

/// Runs until the daemon stops.
pub async fn run(vitals: Arc<ReportSources>) {
    let mut alarms = HeadroomAlarms::default();
    let mut ending = CertificateExpiryAlarms::default();
    let mut breaking = CircuitBreakerAlarms::default();
    let mut trends = UsageTrends::default();
    let mut rates = UtilizationSampler::default();
    let mut crowded = ConnectionLimitAlarms::default();
    let mut resting = TimeWaitScanner::default();
    let mut follower = vitals.activity.follow();
    let mut can_wait = false;
    loop {
        if can_wait {
            // The longest step over is as good a reason for a look as work.
            let _ = tokio::time::timeout(LONGEST_STEP, follower.wait_step(STEP)).await;
        } else {
            follower.pause(STEP).await;
        }
        if let Some(found) = resting.scan().await {
            (vitals.report_time_wait)(&found);
        }
        let snapshot = vitals.control.state();
        let facts = vitals.collect(&snapshot);
        let mut uses = collect_usage(&facts, &snapshot);
        uses.extend(rates.look(facts.workers));
        let mut rows = trends.update(uses, facts.open_counts.now);
        alarms.look(vitals.control.events(), &mut rows, unix_ms(SystemTime::now()));
        vitals.headroom.show(rows);
        ending.look(vitals.control.events(), &snapshot, SystemTime::now());
        crowded.look(vitals.control.events(), &snapshot, &facts.served, facts.open_counts.now);
        breaking.look(vitals.control.events(), &snapshot, breaker_clock_ms(facts.open_counts.now));
        // Alarms end with time too, and packets are forwarded without the workers.
        let forwards_packets = snapshot.config.services.values().any(|one| one.packets.is_some());
        let has_resting_ports = facts.port_usage.iter().any(|row| row.resting > 0);
        can_wait =
            !alarms.is_raised() && !breaking.is_open() && !forwards_packets && !has_resting_ports;
    }
}

#[derive(Default)]
struct HeadroomAlarms {
    /// Limits whose alarm is raised, each since when.
    active: HashMap<ResourceKey, u64>,
}

impl HeadroomAlarms {
    fn is_raised(&self) -> bool {
        !self.active.is_empty()
    }

    /// Compares with the previous state, logs new alarms and notes in the rows which stand. Limits without a row are
    /// dropped.
    fn look(&mut self, events: &EventLog, rows: &mut [HeadroomRow], now_unix_ms: u64) {
        let before = std::mem::take(&mut self.active);
        for HeadroomRow { usage, exhausted_in, alarm_since_unix_ms } in rows {
            let ResourceUsage { resource: what, subject: of, used, limit } = &*usage;
            let percent = u128::from(*used) * 100 / u128::from(*limit).max(1);
            let percent = u64::try_from(percent).unwrap_or(u64::MAX);
            let key = usage.key();
            let since = before.get(&key).copied();
            let was = since.is_some();
            // Half is plenty only as long as it does not end within a minute.
            let ends = exhausted_in.is_some_and(|time| time <= SOON) && percent >= HALF;
            let is = ends || if was { percent >= FAR } else { percent >= NEAR };
            let mut about = EventFields::from([
                ("resource", (*what).to_owned()),
                ("of", of.clone()),
                ("used", used.to_string()),
                ("limit", limit.to_string()),
            ]);
            let mut share = format!("{used} of {limit} {what} of {of} are in use");
            if let Some(time) = exhausted_in.filter(|time| !time.is_zero()) {
                let seconds = time.as_secs();
                share.push_str(&format!("; at this rate all are in {seconds} s"));
                about.insert("exhausted-in-s", seconds.to_string());
            }
            match (was, is) {
                (false, true) => events.emit(EventLevel::Warning, "alarm-on", share, about),
                (true, false) => events.emit(EventLevel::Info, "alarm-off", share, about),
                _ => {}
            }
            let since = since.unwrap_or(now_unix_ms);
            *alarm_since_unix_ms = is.then_some(since);
            if is && self.active.len() < REMEMBERED {
                self.active.insert(key, since);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(used: u64, exhausted_in: Option<u64>) -> HeadroomRow {
        let now =
            ResourceUsage { resource: "connections", subject: "shop".to_owned(), used, limit: 100 };
        let exhausted_in = exhausted_in.map(Duration::from_secs);
        HeadroomRow { usage: now, exhausted_in, alarm_since_unix_ms: None }
    }

    #[test]
    fn it_is_reported_once_when_it_comes_near_and_once_when_it_is_far() {
        let events = EventLog::quiet();
        let mut alarms = HeadroomAlarms::default();
        let mut standing = Vec::new();
        for used in [10, 79, 80, 75, 85, 71, 69, 75, 80] {
            let mut rows = [row(used, None)];
            alarms.look(&events, &mut rows, used);
            standing.push(rows[0].alarm_since_unix_ms);
        }
        let whats: Vec<_> = events.recent().iter().map(|event| event.kind).collect();
        assert_eq!(whats, ["alarm-on", "alarm-off", "alarm-on"]);
        assert_eq!(events.recent()[0].about["used"], "80");
        let first = Some(80);
        let want = [None, None, first, first, first, first, None, None, first];
        assert_eq!(standing, want, "an alarm stands since it was raised");
    }

    #[test]
    fn what_ends_soon_is_reported_before_it_is_near() {
        let events = EventLog::quiet();
        let mut alarms = HeadroomAlarms::default();
        for (used, end) in
            [(20, Some(5)), (60, Some(90)), (60, Some(40)), (62, None), (62, Some(30))]
        {
            alarms.look(&events, &mut [row(used, end)], 1);
        }
        let whats: Vec<_> = events.recent().iter().map(|event| event.kind).collect();
        assert_eq!(whats, ["alarm-on", "alarm-off", "alarm-on"]);
        let first = &events.recent()[0];
        assert_eq!(
            (first.about["used"].as_str(), first.about["exhausted-in-s"].as_str()),
            ("60", "40")
        );
        assert!(first.text.contains("at this rate all are in 40 s"), "{}", first.text);
    }
}
