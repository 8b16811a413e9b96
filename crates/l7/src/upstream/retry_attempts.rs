//! Retries: the pool's retry budget and circuit breaker, the back-off before a retry, and when a running attempt is
//! abandoned for another server.
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
use model::rules::ExchangeSettings;
use model::snapshot::{PoolView, ServerState};
use model::stats::pool::PoolWorkerStats;

use crate::conn::deadline::ExchangeDeadline;
use crate::rt::NetDriver;
use crate::servers::worker_state::{LocalPool, LocalServer};
use crate::upstream::circuit_breaker;
use crate::worker::Worker;

/// Counts a request or a `tcp` connection to a pool.
#[inline]
pub fn count_request<N: NetDriver>(worker: &Worker<N>, pool: &LocalPool<N>) {
    let view = pool.view.borrow();
    let slot = pool_slot(worker, &view);
    slot.counters.requests.add(1);
    slot.retry_window.record_request(&view.config.retry, worker.rt.now());
}

/// The circuit breaker's permit while a retry of a request is in flight; empty before.
#[derive(Default)]
pub struct RetryInFlight(Cell<Option<BreakerPermit>>);

impl RetryInFlight {
    /// Takes the permit of another one, which ends.
    pub fn take_over(&self, other: &RetryInFlight) {
        self.0.set(other.0.take());
    }

    pub fn finish(&self) {
        self.0.take();
    }
}

/// Takes a retry from the pool's budget, and a permit of its circuit breaker until `retry_in_flight` ends. Granted and
/// refused retries are counted.
///
/// # Errors
/// The cause of the refusal.
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

/// Waits before retry number `attempt`, after the servers in `failed` have failed. Returns the cause if the exchange
/// ends meanwhile.
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

/// The reasons to abandon a running attempt before any part of its response was passed on. Only for a request that may
/// be sent again.
pub struct RetryTrigger<'a, N: NetDriver> {
    worker: &'a Worker<N>,
    pool: &'a LocalPool<N>,
    server: &'a LocalServer<N>,
    retry_in_flight: &'a RetryInFlight,
    /// How often the server had been marked as down at the start, or at the last check.
    falls: Cell<u32>,
}

impl<'a, N: NetDriver> RetryTrigger<'a, N> {
    /// For an attempt that starts.
    pub fn new(
        worker: &'a Worker<N>,
        pool: &'a LocalPool<N>,
        server: &'a LocalServer<N>,
        retry_in_flight: &'a RetryInFlight,
    ) -> RetryTrigger<'a, N> {
        RetryTrigger { worker, pool, server, retry_in_flight, falls: Cell::new(server.falls.get()) }
    }

    /// Whether a response with this status is dropped for a retry, which the retry budget allows.
    pub fn retries_status(&self, on: &StatusRanges, status: u16) -> bool {
        if !on.contains(status) || take_retry(self.worker, self.pool, self.retry_in_flight).is_err()
        {
            return false;
        }
        pool_slot(self.worker, &self.pool.view.borrow()).counters.statuses_retried.add(1);
        true
    }

    /// Whether the server was marked as down during the attempt, and another server can take the request within the
    /// budget. Without budget the attempt continues, since the response may still arrive.
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

/// Most retries after this failure. Without a free source port only another server may be reachable, not the same one.
pub fn retry_limit(
    view: &PoolView,
    settings: &ExchangeSettings,
    cause: Cause,
    failed: &[ServerId],
    own: Option<ServerId>,
) -> u8 {
    let untried = |id| Some(id) != own && !failed.contains(&id);
    match cause {
        Cause::NoSourcePort if !has_working_server(view, untried) => 0,
        _ => settings.retries(&view.config),
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
