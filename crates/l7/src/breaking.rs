//! A pool's circuit breakers, as a worker asks them: each refusal is counted, and room for a connection is made where an
//! idle one can go.
//!
//! What they bound and when one is open is `model::breaker`'s to say; what follows for a request is decided by whoever
//! asked.

use std::rc::Rc;

use model::breaker::{Bound, Permit, clock};
use model::snapshot::PoolView;

use crate::local::{LocalPool, LocalServer};
use crate::rt::Net;
use crate::worker::Worker;

/// Counts a refusal.
#[cold]
fn refused<N: Net>(worker: &Worker<N>, view: &PoolView, bound: Bound) {
    view.live.refused(bound, worker.index, clock(worker.rt.now()));
}

/// A request more for the pool's servers; `None`: it is refused. Nothing is counted where nothing is limited: requests
/// are many, and all workers count in one place.
#[inline]
pub fn request<N: Net>(worker: &Worker<N>, view: &PoolView) -> Option<Option<Permit>> {
    let Some(most) = view.config.breaker.requests else { return Some(None) };
    let permit = view.live.breakers.enter(Bound::Requests, Some(most));
    if permit.is_none() {
        refused(worker, view, Bound::Requests);
    }
    permit.map(Some)
}

/// A further attempt more under way; `None`: it is refused.
pub fn retry<N: Net>(worker: &Worker<N>, view: &PoolView) -> Option<Permit> {
    let permit = view.live.breakers.enter(Bound::Retries, view.config.breaker.retries);
    if permit.is_none() {
        refused(worker, view, Bound::Retries);
    }
    permit
}

/// A connection more to the pool's servers, in the place of this worker's oldest idle one where there is no room; `None`: it
/// is refused.
pub fn connection<N: Net>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    view: &PoolView,
) -> Option<Permit> {
    let enter = || view.live.breakers.enter(Bound::Connections, view.config.breaker.connections);
    let permit = enter().or_else(|| close_oldest(worker, pool).then(enter).flatten());
    if permit.is_none() {
        refused(worker, view, Bound::Connections);
    }
    permit
}

/// Closes the connection that has been idle for longest; false: none is.
fn close_oldest<N: Net>(worker: &Worker<N>, pool: &LocalPool<N>) -> bool {
    let servers = pool.servers.borrow();
    let idle = |server: &&Rc<LocalServer<N>>| server.shelf.borrow().oldest();
    let oldest = servers.iter().filter(|server| idle(server).is_some()).min_by_key(idle);
    let Some(server) = oldest else { return false };
    server.shelf.borrow_mut().close_oldest();
    server.view.borrow().live.slots[worker.index].counters.retired.add(1);
    true
}
