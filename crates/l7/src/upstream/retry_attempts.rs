//! Retries: whether the pool's retry budget and its circuit breaker allow one more, the back-off before it, and when a
//! running attempt is given up for another server.
//!
//! `model::retry` decides whether an attempt may be repeated at all; `exchange` repeats it.

use std::cell::Cell;
use std::task::Poll;

use model::cause::Cause;
use model::circuit_breaker::BreakerPermit;
use model::config::StatusRanges;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::retry::{backoff, budget};
use model::snapshot::{PoolView, ServerState};
use model::stats::pool::PoolWorkerStats;

use crate::conn::deadline::ExchangeDeadline;
use crate::rt::NetDriver;
use crate::servers::worker_state::{LocalPool, LocalServer};
use crate::upstream::circuit_breaker;
use crate::worker::Worker;

/// Counts a request, or a `tcp` connection, that came to a pool.
#[inline]
pub fn count_request<N: NetDriver>(worker: &Worker<N>, pool: &LocalPool<N>) {
    let view = pool.view.borrow();
    let slot = pool_slot(worker, &view);
    slot.counters.requests.add(1);
    slot.retry_window.record_request(&view.config.retry, worker.rt.now());
}

/// What counts a request while a further attempt of it is under way; empty until then.
#[derive(Default)]
pub struct RetryInFlight(Cell<Option<BreakerPermit>>);

impl RetryInFlight {
    /// As the other one, which ends.
    pub fn take_over(&self, other: &RetryInFlight) {
        self.0.set(other.0.take());
    }

    pub fn finish(&self) {
        self.0.take();
    }
}

/// Takes a further attempt from the pool's budget, and from its breaker until `under_way` ends. Both are counted, as is what
/// they refuse.
///
/// # Errors
/// What refused it.
pub fn take_retry<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    retry_in_flight: &RetryInFlight,
) -> Result<(), Cause> {
    let view = pool.view.borrow();
    let now = worker.rt.now();
    let permit = retry_in_flight.0.take().or_else(|| circuit_breaker::admit_retry(worker, &view));
    let permit = permit.ok_or(Cause::CircuitOpen)?;
    let terms = &view.config.retry;
    let slot = pool_slot(worker, &view);
    let windows = view.stats.slots.iter().map(|slot| &slot.retry_window);
    if !budget::has_budget(terms, budget::sum_usage(windows, terms, now)) {
        slot.counters.retries_refused.add(1);
        return Err(Cause::RetryBudget);
    }
    slot.counters.retries.add(1);
    slot.retry_window.record_retry(terms, now);
    retry_in_flight.0.set(Some(permit));
    Ok(())
}

/// Waits before further attempt number `attempt`, after these servers have failed; says what ended the exchange
/// meanwhile, if something did.
pub async fn back_off<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    failed: &[ServerId],
    attempt: u32,
    deadline: &ExchangeDeadline<'_, N>,
) -> Option<Cause> {
    let begins = next_attempt_at(worker, pool, failed, attempt);
    if begins <= worker.rt.now() {
        return None;
    }
    pool_slot(worker, &pool.view.borrow()).counters.backed_off.add(1);
    std::future::poll_fn(|_| {
        let now = worker.rt.now();
        if let Some(cause) = deadline.expired_cause(now) {
            return Poll::Ready(Some(cause));
        }
        if now >= begins {
            return Poll::Ready(None);
        }
        worker.rt.wake_at(deadline.earliest_until(begins));
        Poll::Pending
    })
    .await
}

fn next_attempt_at<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    failed: &[ServerId],
    attempt: u32,
) -> MonotonicTime {
    let view = pool.view.borrow();
    let fresh = has_working_server(&view, |id| !failed.contains(&id));
    let draw = worker.rng.borrow_mut().next();
    worker.rt.now() + backoff::backoff(&view.config.retry, attempt, fresh, draw)
}

/// What an attempt under way may be given up for while nothing of an answer was passed on. Only there when its request
/// may be sent again.
pub struct RetryTrigger<'a, N: NetDriver> {
    worker: &'a Worker<N>,
    pool: &'a LocalPool<N>,
    server: &'a LocalServer<N>,
    retry_in_flight: &'a RetryInFlight,
    /// How often its server had fallen when it began, or was looked at last.
    falls: Cell<u32>,
}

impl<'a, N: NetDriver> RetryTrigger<'a, N> {
    /// For an attempt that begins.
    pub fn new(
        worker: &'a Worker<N>,
        pool: &'a LocalPool<N>,
        server: &'a LocalServer<N>,
        retry_in_flight: &'a RetryInFlight,
    ) -> RetryTrigger<'a, N> {
        RetryTrigger { worker, pool, server, retry_in_flight, falls: Cell::new(server.falls.get()) }
    }

    /// Whether an answer of this status is given up for another attempt, which the retry budget pays.
    pub fn retries_status(&self, on: &StatusRanges, status: u16) -> bool {
        if !on.contains(status) || take_retry(self.worker, self.pool, self.retry_in_flight).is_err()
        {
            return false;
        }
        pool_slot(self.worker, &self.pool.view.borrow()).counters.statuses_retried.add(1);
        true
    }

    /// Whether the health checker has marked the server as down since, and another server can take the request within the budget.
    /// Without a budget it waits on: its answer may come all the same.
    pub fn server_fell(&self) -> bool {
        let falls = self.server.falls.get();
        if self.falls.replace(falls) == falls {
            return false;
        }
        let others = has_working_server(&self.pool.view.borrow(), |id| id != self.server.id);
        if !others || take_retry(self.worker, self.pool, self.retry_in_flight).is_err() {
            return false;
        }
        pool_slot(self.worker, &self.pool.view.borrow()).counters.moved.add(1);
        true
    }
}

/// How many further attempts there may be after this failure. Where no source port is left towards a server, another
/// one may still be reached, and the same one may not.
pub fn retry_limit(
    view: &PoolView,
    cause: Cause,
    failed: &[ServerId],
    own: Option<ServerId>,
) -> u8 {
    let untried = |id| Some(id) != own && !failed.contains(&id);
    match cause {
        Cause::NoSourcePort if !has_working_server(view, untried) => 0,
        _ => view.config.retries,
    }
}

/// Whether one of these servers may take work.
fn has_working_server(view: &PoolView, which: impl Fn(ServerId) -> bool) -> bool {
    let may = |state| matches!(state, ServerState::Up | ServerState::Unknown);
    view.servers.iter().any(|one| may(one.state) && one.weight.get() > 0 && which(one.id))
}

fn pool_slot<'a, N: NetDriver>(worker: &Worker<N>, view: &'a PoolView) -> &'a PoolWorkerStats {
    &view.stats.slots[worker.index]
}
