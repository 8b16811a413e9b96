//! Probes by result, for metrics. The prober writes, anyone reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters of the prober.
#[derive(Debug, Default)]
pub struct ProbeCounts {
    pub(super) passed: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) not_made: AtomicU64,
    pub(super) late: AtomicU64,
    /// The latest start, microseconds after its moment.
    pub(super) latest_us: AtomicU64,
    pub(super) observations_dropped: AtomicU64,
    pub(super) agents_silent: AtomicU64,
    pub(super) agents_lost: AtomicU64,
    pub(super) agents_clamped: AtomicU64,
    pub(super) agents_unknown: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeSums {
    pub passed: u64,
    pub failed: u64,
    /// We could not ask.
    pub not_made: u64,
    /// Had to wait because too many were under way.
    pub late: u64,
    /// How much later than its moment a probe began, at most, in microseconds.
    pub latest_us: u64,
    /// Reports of connections dropped because too many were waiting.
    pub observations_dropped: u64,
    /// Questions to agents without an answer.
    pub agents_silent: u64,
    /// Agents whose last report grew too old.
    pub agents_lost: u64,
    /// Reports outside 0 to 100 %, clamped.
    pub agents_clamped: u64,
    /// Reports with something that was not understood.
    pub agents_unknown: u64,
}

impl ProbeCounts {
    /// Records that a probe began this long after its due time.
    pub(super) fn record_late(&self, late: Duration) {
        let micros = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
        self.latest_us.fetch_max(micros, Ordering::Relaxed);
    }

    pub fn totals(&self) -> ProbeSums {
        ProbeSums {
            passed: self.passed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            not_made: self.not_made.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
            latest_us: self.latest_us.load(Ordering::Relaxed),
            observations_dropped: self.observations_dropped.load(Ordering::Relaxed),
            agents_silent: self.agents_silent.load(Ordering::Relaxed),
            agents_lost: self.agents_lost.load(Ordering::Relaxed),
            agents_clamped: self.agents_clamped.load(Ordering::Relaxed),
            agents_unknown: self.agents_unknown.load(Ordering::Relaxed),
        }
    }
}

pub(super) fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
