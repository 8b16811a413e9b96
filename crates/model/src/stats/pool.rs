//! Live counters of a pool: what its requests cost beyond one attempt each, and what is under way.
//!
//! Each worker adds to a slot of its own, as for services and servers. It decides nothing.

use std::sync::Arc;

use crate::circuit_breaker::{BreakerResource, CircuitBreakers, RefusalStreak};
use crate::counter::Count;
use crate::retry::budget::RetryBudgetWindow;

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
        /// Requests refused because the pool's servers had as many connections as its breaker lets through.
        breaker_connections = "breaker-connections";
        /// Likewise because as many waited for a server.
        breaker_pending = "breaker-pending";
        /// Likewise because servers had as many requests.
        breaker_requests = "breaker-requests";
        /// Further attempts that were not made because as many were under way.
        breaker_retries = "breaker-retries";
        /// Requests refused because the queue was held to what servers take in time.
        shed = "shed";
        /// Requests sent to a second server as well, because the first one was silent.
        hedges = "hedges";
        /// Of those, answered by the second one first.
        hedges_won = "hedges-won";
        /// Of those, given up because the first one answered.
        hedges_lost = "hedges-lost";
    }
}

impl PoolCounters {
    /// What a breaker refused.
    pub fn refusals(&self, bound: BreakerResource) -> &Count {
        match bound {
            BreakerResource::Connections => &self.breaker_connections,
            BreakerResource::Pending => &self.breaker_pending,
            BreakerResource::Requests => &self.breaker_requests,
            BreakerResource::Retries => &self.breaker_retries,
        }
    }
}

/// One worker's slot of a pool, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct PoolWorkerStats {
    pub counters: PoolCounters,
    /// Requests and further attempts of the last while.
    pub retry_window: RetryBudgetWindow,
}

/// A pool's counters over all workers; outlives every snapshot.
#[derive(Debug)]
pub struct PoolStats {
    /// One slot a worker.
    pub slots: Box<[PoolWorkerStats]>,
    /// What is under way over all workers.
    pub breakers: Arc<CircuitBreakers>,
    /// When the last of these was shed.
    pub shed_streak: RefusalStreak,
}

impl PoolStats {
    /// With a slot for each of `workers`.
    pub fn new(workers: usize) -> Self {
        PoolStats {
            slots: (0..workers).map(|_| PoolWorkerStats::default()).collect(),
            breakers: Arc::default(),
            shed_streak: RefusalStreak::default(),
        }
    }

    /// A breaker refused one of this worker's.
    pub fn record_refusal(&self, bound: BreakerResource, worker: usize, now: u64) {
        self.slots[worker].counters.refusals(bound).add(1);
        self.breakers.record_refusal(bound, now);
    }

    /// One of this worker's was shed.
    pub fn record_shed(&self, worker: usize, now: u64) {
        self.slots[worker].counters.shed.add(1);
        self.shed_streak.record_refusal(now);
    }
}
