//! Live counters of a pool: what its requests cost beyond one attempt each.
//!
//! Each worker adds to a slot of its own, as for services and servers. It decides nothing.

use super::Count;
use crate::retry::budget::Window;

counters! {
    /// What one worker counted of a pool.
    PoolCounters {
        /// Requests or `tcp` connections that came to it.
        requests = "requests";
        /// Further attempts that its budget allowed.
        retries = "retries";
        /// Further attempts that were not made: the budget was spent.
        retries_refused = "retries-refused";
        /// Pauses before a further attempt.
        backed_off = "backed-off";
        /// Answers that were not passed on because of their status.
        statuses_retried = "statuses-retried";
        /// Requests taken from a server that was judged to be down while its answer was awaited.
        moved = "moved";
    }
}

/// One worker's slot of a pool, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct PoolSlot {
    /// Counters.
    pub counters: PoolCounters,
    /// Requests and further attempts of the last while.
    pub window: Window,
}

/// A pool's counters over all workers; outlives every snapshot.
#[derive(Debug)]
pub struct PoolLive {
    /// One slot a worker.
    pub slots: Box<[PoolSlot]>,
}

impl PoolLive {
    /// With a slot for each of `workers`.
    pub fn new(workers: usize) -> Self {
        PoolLive { slots: (0..workers).map(|_| PoolSlot::default()).collect() }
    }
}
