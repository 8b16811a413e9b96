//! Probes by result, for metrics. The prober writes, anyone reads.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the prober.
#[derive(Debug, Default)]
pub struct ProbeCounts {
    pub(super) passed: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) not_made: AtomicU64,
    pub(super) late: AtomicU64,
    pub(super) observations_dropped: AtomicU64,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeSums {
    /// The server did what was asked.
    pub passed: u64,
    /// It did not.
    pub failed: u64,
    /// We could not ask.
    pub not_made: u64,
    /// Had to wait because too many were under way.
    pub late: u64,
    /// Reports of connections dropped because too many were waiting.
    pub observations_dropped: u64,
}

impl ProbeCounts {
    /// Reads all.
    pub fn read(&self) -> ProbeSums {
        ProbeSums {
            passed: self.passed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            not_made: self.not_made.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
            observations_dropped: self.observations_dropped.load(Ordering::Relaxed),
        }
    }
}

pub(super) fn one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
