//! A pool's circuit breakers in a worker: each refusal is counted, and an idle connection is closed if that makes room
//! for a new one.
//!
//! `model::circuit_breaker` decides when a breaker is open. The caller decides what follows for a request.

use std::rc::Rc;

use model::circuit_breaker::{BreakerPermit, BreakerResource, breaker_clock_ms};
use model::snapshot::PoolView;

use crate::rt::NetDriver;
use crate::servers::worker_state::{LocalPool, LocalServer};
use crate::worker::Worker;

#[cold]
fn count_refusal<N: NetDriver>(worker: &Worker<N>, view: &PoolView, bound: BreakerResource) {
    view.stats.record_refusal(bound, worker.index, breaker_clock_ms(worker.rt.now()));
}

/// Admits one more request to the pool's servers; `None`: rejected. Without a limit nothing is counted, since the
/// counter is shared by all workers.
#[inline]
pub fn admit_request<N: NetDriver>(
    worker: &Worker<N>,
    view: &PoolView,
) -> Option<Option<BreakerPermit>> {
    let Some(most) = view.config.breaker.requests else { return Some(None) };
    let permit = view.stats.breakers.try_acquire(BreakerResource::Requests, Some(most));
    if permit.is_none() {
        count_refusal(worker, view, BreakerResource::Requests);
    }
    permit.map(Some)
}

/// Admits one more retry; `None`: rejected.
pub fn admit_retry<N: NetDriver>(worker: &Worker<N>, view: &PoolView) -> Option<BreakerPermit> {
    let permit =
        view.stats.breakers.try_acquire(BreakerResource::Retries, view.config.breaker.retries);
    if permit.is_none() {
        count_refusal(worker, view, BreakerResource::Retries);
    }
    permit
}

/// Admits one more connection to the pool's servers. At the limit, this worker's oldest idle connection is closed for
/// it. `None`: rejected.
pub fn admit_connection<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    view: &PoolView,
) -> Option<BreakerPermit> {
    let enter = || {
        view.stats
            .breakers
            .try_acquire(BreakerResource::Connections, view.config.breaker.connections)
    };
    let permit = enter().or_else(|| close_oldest_idle(worker, pool).then(enter).flatten());
    if permit.is_none() {
        count_refusal(worker, view, BreakerResource::Connections);
    }
    permit
}

/// Closes the connection that has been idle for longest; false: none is idle.
fn close_oldest_idle<N: NetDriver>(worker: &Worker<N>, pool: &LocalPool<N>) -> bool {
    let servers = pool.servers.borrow();
    let idle = |server: &&Rc<LocalServer<N>>| server.idle_pool.borrow().oldest();
    let oldest = servers.iter().filter(|server| idle(server).is_some()).min_by_key(idle);
    let Some(server) = oldest else { return false };
    server.idle_pool.borrow_mut().close_oldest();
    server.view.borrow().stats.slots[worker.index].counters.retired.add(1);
    true
}
