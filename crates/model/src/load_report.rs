//! Load reports of servers: one normalised value, its time and its source.
//!
//! Agents and responses write reports; the weight controller and load balancing read them. An old report is removed, so
//! that a lost agent means "not known" and never "idle". Other modules parse the protocols.

pub mod orca;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::monotonic_time::MonotonicTime;

/// The resolution of stored values: 16 bits.
const STEPS: f64 = 65_535.0;
/// Bits of the time in milliseconds: enough for 2,000 years.
const AT_BITS: u32 = 46;

/// A server's report of its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UtilizationReport {
    /// 0 idle to 1 fully loaded.
    pub value: f64,
    /// When the report arrived, to the millisecond, on the clock of its writer (nanoseconds since the process began).
    pub at: MonotonicTime,
    pub source: LoadSource,
}

/// The source of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadSource {
    /// A text agent (HAProxy's agent-check protocol) or `steelyard agent`.
    Agent,
    /// An ORCA report that the balancer requested.
    Orca,
    /// An ORCA report in the head of a response (`endpoint-load-metrics`).
    ResponseHeader,
}

/// One server's newest report, written and read by any thread.
#[derive(Debug, Default)]
pub struct LoadCell(AtomicU64);

/// A report within its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClampedReport {
    pub report: UtilizationReport,
    /// The value was outside 0 to 1, or not a number.
    pub clamped: bool,
}

impl UtilizationReport {
    /// A report of a share, from 0 to 1.
    pub fn new_clamped(value: f64, at: MonotonicTime, source: LoadSource) -> ClampedReport {
        let within = if value.is_nan() { 1.0 } else { value.clamp(0.0, 1.0) };
        let report = UtilizationReport { value: within, at, source };
        ClampedReport { report, clamped: within != value }
    }
}

impl LoadSource {
    /// For status and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            LoadSource::Agent => "agent",
            LoadSource::Orca => "orca",
            LoadSource::ResponseHeader => "answer",
        }
    }
}

impl LoadCell {
    /// The newest report; `None`: the load is unknown.
    #[inline]
    pub fn load(&self) -> Option<UtilizationReport> {
        let word = self.0.load(Ordering::Relaxed);
        let source = match word & 3 {
            1 => LoadSource::Agent,
            2 => LoadSource::Orca,
            3 => LoadSource::ResponseHeader,
            _ => return None,
        };
        let value = ((word >> 2) & 0xffff) as f64 / STEPS;
        Some(UtilizationReport { value, at: MonotonicTime((word >> 18) * 1_000_000), source })
    }

    pub fn store(&self, report: UtilizationReport) {
        let source = match report.source {
            LoadSource::Agent => 1,
            LoadSource::Orca => 2,
            LoadSource::ResponseHeader => 3,
        };
        // A value outside the range has no meaning: the nearest valid one is stored.
        let value = (report.value.clamp(0.0, 1.0) * STEPS).round() as u64;
        let at = (report.at.0 / 1_000_000) & ((1 << AT_BITS) - 1);
        self.0.store(at << 18 | value << 2 | source, Ordering::Relaxed);
    }

    /// Removes a report that is older than `longest`; returns whether this call removed one.
    pub fn expire_older_than(&self, now: MonotonicTime, longest: std::time::Duration) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        let old = self.load().is_some_and(|report| now.since(report.at) > longest);
        // A report that arrived meanwhile stays.
        old && self.0.compare_exchange(word, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_put_is_read() {
        let cell = LoadCell::default();
        assert_eq!(cell.load(), None, "nothing is known at first");
        for source in [LoadSource::Agent, LoadSource::Orca, LoadSource::ResponseHeader] {
            for value in [0.0, 0.25, 0.5, 1.0] {
                let at = MonotonicTime(123_456_789_000_000);
                cell.store(UtilizationReport { value, at, source });
                let read = cell.load().unwrap();
                assert!((read.value - value).abs() < 1e-4, "{read:?}");
                assert_eq!((read.at, read.source), (at, source));
            }
        }
    }

    #[test]
    fn values_out_of_range_are_clamped_and_reported() {
        for (value, stored, clamped) in [
            (40_000.0, 1.0, true),
            (-0.1, 0.0, true),
            (f64::NAN, 1.0, true),
            (f64::INFINITY, 1.0, true),
            (0.7, 0.7, false),
            (1.0, 1.0, false),
        ] {
            let made = UtilizationReport::new_clamped(value, MonotonicTime(0), LoadSource::Agent);
            assert_eq!((made.report.value, made.clamped), (stored, clamped), "{value}");
        }
    }

    #[test]
    fn a_lost_agent_is_unknown_and_not_idle() {
        let cell = LoadCell::default();
        let second = Duration::from_secs(1);
        assert!(
            !cell.expire_older_than(MonotonicTime(u64::MAX / 2), second),
            "nothing to take away"
        );
        cell.store(UtilizationReport {
            value: 0.9,
            at: MonotonicTime(5_000_000_000),
            source: LoadSource::Agent,
        });
        assert!(
            !cell.expire_older_than(MonotonicTime(6_000_000_000), second),
            "just as old as it may be"
        );
        assert!(cell.load().is_some());
        assert!(cell.expire_older_than(MonotonicTime(6_001_000_000), second));
        assert_eq!(cell.load(), None);
    }
}
