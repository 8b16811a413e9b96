//! What a server says of its own load: one normalised value, when it was said and by which way.
//!
//! Agents and answers write it, judging and choosing read it. A report that grew old is taken away, so that a lost
//! agent means "not known" and never "idle". It parses no protocol and knows no weights.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::moment::Moment;

/// The finest step of a value that is kept: one in so many.
const STEPS: f64 = 65_535.0;
/// Milliseconds fit into so many bits: 2,000 years.
const AT_BITS: u32 = 46;

/// What a server said of its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// 0 idle to 1 fully loaded.
    pub value: f64,
    /// When it was learned, to the millisecond, on the clock of who wrote it (nanoseconds since the process began).
    pub at: Moment,
    /// By which way.
    pub source: Source,
}

/// By which way a report came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A text agent (HAProxy's agent-check protocol) or `steelyard agent`.
    Agent,
    /// An ORCA report that was asked for.
    Orca,
    /// An ORCA report in the head of an answer (`endpoint-load-metrics`).
    Answer,
}

/// One server's newest report, written and read by any thread.
#[derive(Debug, Default)]
pub struct Cell(AtomicU64);

impl Report {
    /// A report of a share; `true`: it lay outside 0 to 1 (or was no number) and was clamped.
    pub fn clamped(value: f64, at: Moment, source: Source) -> (Report, bool) {
        let within = if value.is_nan() { 1.0 } else { value.clamp(0.0, 1.0) };
        (Report { value: within, at, source }, within != value)
    }
}

impl Source {
    /// For status and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Agent => "agent",
            Source::Orca => "orca",
            Source::Answer => "answer",
        }
    }
}

impl Cell {
    /// The newest report; `None`: nothing is known.
    #[inline]
    pub fn read(&self) -> Option<Report> {
        let word = self.0.load(Ordering::Relaxed);
        let source = match word & 3 {
            1 => Source::Agent,
            2 => Source::Orca,
            3 => Source::Answer,
            _ => return None,
        };
        let value = ((word >> 2) & 0xffff) as f64 / STEPS;
        Some(Report { value, at: Moment((word >> 18) * 1_000_000), source })
    }

    /// Replaces it.
    pub fn put(&self, report: Report) {
        let source = match report.source {
            Source::Agent => 1,
            Source::Orca => 2,
            Source::Answer => 3,
        };
        // A value outside the range has no meaning here: the nearest that has one is kept.
        let value = (report.value.clamp(0.0, 1.0) * STEPS).round() as u64;
        let at = (report.at.0 / 1_000_000) & ((1 << AT_BITS) - 1);
        self.0.store(at << 18 | value << 2 | source, Ordering::Relaxed);
    }

    /// Takes a report away that is older than `longest`; returns whether one was taken away now.
    pub fn expire(&self, now: Moment, longest: std::time::Duration) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        let old = self.read().is_some_and(|report| now.since(report.at) > longest);
        // One that came meanwhile stays.
        old && self.0.compare_exchange(word, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_put_is_read() {
        let cell = Cell::default();
        assert_eq!(cell.read(), None, "nothing is known at first");
        for source in [Source::Agent, Source::Orca, Source::Answer] {
            for value in [0.0, 0.25, 0.5, 1.0] {
                let at = Moment(123_456_789_000_000);
                cell.put(Report { value, at, source });
                let read = cell.read().unwrap();
                assert!((read.value - value).abs() < 1e-4, "{read:?}");
                assert_eq!((read.at, read.source), (at, source));
            }
        }
    }

    #[test]
    fn what_is_out_of_range_is_clamped_and_said() {
        for (value, kept, clamped) in [
            (40_000.0, 1.0, true),
            (-0.1, 0.0, true),
            (f64::NAN, 1.0, true),
            (f64::INFINITY, 1.0, true),
            (0.7, 0.7, false),
            (1.0, 1.0, false),
        ] {
            let (report, was) = Report::clamped(value, Moment(0), Source::Agent);
            assert_eq!((report.value, was), (kept, clamped), "{value}");
        }
    }

    #[test]
    fn a_lost_agent_is_unknown_and_not_idle() {
        let (cell, second) = (Cell::default(), Duration::from_secs(1));
        assert!(!cell.expire(Moment(u64::MAX / 2), second), "nothing to take away");
        cell.put(Report { value: 0.9, at: Moment(5_000_000_000), source: Source::Agent });
        assert!(!cell.expire(Moment(6_000_000_000), second), "just as old as it may be");
        assert!(cell.read().is_some());
        assert!(cell.expire(Moment(6_001_000_000), second));
        assert_eq!(cell.read(), None);
    }
}
