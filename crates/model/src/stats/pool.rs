//! Live counters of a pool: retries, hedges and rejections, and work in progress.
//!
//! Each worker adds to its own slot, as for services and servers. It decides nothing.

use std::sync::Arc;

use crate::circuit_breaker::{BreakerResource, CircuitBreakers, RefusalStreak};
use crate::counter::Count;
use crate::retry::budget::RetryBudgetWindow;
use crate::stats::WorkerSlots;

counters! {
    /// One worker's counters of a pool.
    PoolCounters {
        /// Requests or `tcp` connections that reached the pool.
        requests = "requests";
        /// Retries that the budget allowed.
        retries = "retries";
        /// Retries that were not made because the budget was spent.
        retries_refused = "retries-refused";
        /// Pauses before a retry.
        backed_off = "backed-off";
        /// Responses that were retried because of their status.
        statuses_retried = "statuses-retried";
        /// Requests moved from a server that was marked down while its response was awaited.
        moved = "moved";
        /// Requests rejected because the circuit breaker for connections was open.
        breaker_connections = "breaker-connections";
        /// Requests rejected because the circuit breaker for waiting requests was open.
        breaker_pending = "breaker-pending";
        /// Requests rejected because the circuit breaker for requests in flight was open.
        breaker_requests = "breaker-requests";
        /// Retries that were not made because the circuit breaker for retries was open.
        breaker_retries = "breaker-retries";
        /// Requests rejected by load shedding.
        shed = "shed";
        /// Hedged requests: also sent to a second server, because the first one had not responded.
        hedges = "hedges";
        /// Hedged requests that the second server answered first.
        hedges_won = "hedges-won";
        /// Hedged requests that were cancelled because the first server responded.
        hedges_lost = "hedges-lost";
    }
}

impl PoolCounters {
    /// Rejections by one circuit breaker.
    pub fn refusals(&self, bound: BreakerResource) -> &Count {
        match bound {
            BreakerResource::Connections => &self.breaker_connections,
            BreakerResource::Pending => &self.breaker_pending,
            BreakerResource::Requests => &self.breaker_requests,
            BreakerResource::Retries => &self.breaker_retries,
        }
    }
}

/// One worker's slot of a pool, on separate cache lines.
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
    /// One slot per worker.
    pub slots: WorkerSlots<PoolWorkerStats>,
    /// Work in progress over all workers.
    pub breakers: Arc<CircuitBreakers>,
    /// When load shedding last rejected a request.
    pub shed_streak: RefusalStreak,
}

impl PoolStats {
    /// With a slot for each of `workers`.
    pub fn new(workers: usize) -> Self {
        PoolStats {
            slots: WorkerSlots::new(workers),
            breakers: Arc::default(),
            shed_streak: RefusalStreak::default(),
        }
    }

    /// Counts that a breaker rejected a request of this worker.
    pub fn record_refusal(&self, bound: BreakerResource, worker: usize, now: u64) {
        self.slots[worker].counters.refusals(bound).add(1);
        self.breakers.record_refusal(bound, now);
    }

    /// Counts that load shedding rejected a request of this worker.
    pub fn record_shed(&self, worker: usize, now: u64) {
        self.slots[worker].counters.shed.add(1);
        self.shed_streak.record_refusal(now);
    }
}
