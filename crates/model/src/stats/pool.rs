//! Live counters of a pool: retries, hedges and refusals, and what is under way.
//!
//! Each worker adds to its own slot, as for services and servers. It decides nothing.

use std::sync::Arc;

use crate::circuit_breaker::{BreakerResource, CircuitBreakers, RefusalStreak};
use crate::counter::Count;
use crate::retry::budget::RetryBudgetWindow;

counters! {
    /// One worker's counters of a pool.
    PoolCounters {
        /// Requests or `tcp` connections that reached the pool.
        requests = "requests";
        /// Retries that the budget allowed.
        retries = "retries";
        /// Retries that were not made: the budget was spent.
        retries_refused = "retries-refused";
        /// Pauses before a retry.
        backed_off = "backed-off";
        /// Responses that were retried because of their status.
        statuses_retried = "statuses-retried";
        /// Requests moved from a server that was marked down while its response was awaited.
        moved = "moved";
        /// Requests refused because the circuit breaker for connections was open.
        breaker_connections = "breaker-connections";
        /// The same, for waiting requests.
        breaker_pending = "breaker-pending";
        /// The same, for requests in flight.
        breaker_requests = "breaker-requests";
        /// Retries that were not made because the circuit breaker for retries was open.
        breaker_retries = "breaker-retries";
        /// Requests refused by load shedding.
        shed = "shed";
        /// Requests also sent to a second server, because the first one was silent (hedging).
        hedges = "hedges";
        /// Of those, answered by the second one first.
        hedges_won = "hedges-won";
        /// Of those, given up because the first one answered.
        hedges_lost = "hedges-lost";
    }
}

impl PoolCounters {
    /// Refusals of one circuit breaker.
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
    /// Recent requests and retries.
    pub retry_window: RetryBudgetWindow,
}

/// A pool's counters over all workers; they outlive every snapshot.
#[derive(Debug)]
pub struct PoolStats {
    /// One slot a worker.
    pub slots: Box<[PoolWorkerStats]>,
    /// Work under way, over all workers.
    pub breakers: Arc<CircuitBreakers>,
    /// When load shedding last refused a request.
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

    /// Counts that a breaker refused a request of this worker.
    pub fn record_refusal(&self, bound: BreakerResource, worker: usize, now: u64) {
        self.slots[worker].counters.refusals(bound).add(1);
        self.breakers.record_refusal(bound, now);
    }

    /// Counts that load shedding refused a request of this worker.
    pub fn record_shed(&self, worker: usize, now: u64) {
        self.slots[worker].counters.shed.add(1);
        self.shed_streak.record_refusal(now);
    }
}
