//! Further attempts: whether the pool's budget and its breaker have one left, the pause before it, and what a running attempt is given up
//! for so that another server gets its request.
//!
//! Whether an attempt may be repeated at all is `model::retry`'s to judge, and `exchange`'s to do.

use std::cell::Cell;
use std::task::Poll;

use model::breaker::Permit;
use model::cause::Cause;
use model::config::Statuses;
use model::id::ServerId;
use model::live::pool::PoolSlot;
use model::moment::Moment;
use model::retry::{budget, pause};
use model::snapshot::{PoolView, ServerState};

use crate::breaking;
use crate::local::{LocalPool, LocalServer};
use crate::patience::Patience;
use crate::rt::Net;
use crate::worker::Worker;

/// Counts a request, or a `tcp` connection, that came to a pool.
#[inline]
pub fn first<N: Net>(worker: &Worker<N>, pool: &LocalPool<N>) {
    let view = pool.view.borrow();
    let slot = slot(worker, &view);
    slot.counters.requests.add(1);
    slot.window.request(&view.config.retry, worker.rt.now());
}

/// What counts a request while a further attempt of it is under way; empty until then.
#[derive(Default)]
pub struct UnderWay(Cell<Option<Permit>>);

impl UnderWay {
    /// As the other one, which ends.
    pub fn take(&self, other: &UnderWay) {
        self.0.set(other.0.take());
    }

    /// No longer.
    pub fn end(&self) {
        self.0.take();
    }
}

/// Takes a further attempt from the pool's budget, and from its breaker until `under_way` ends. Both are counted, as is what
/// they refuse.
///
/// # Errors
/// What refused it.
pub fn take<N: Net>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    under_way: &UnderWay,
) -> Result<(), Cause> {
    let (view, now) = (pool.view.borrow(), worker.rt.now());
    let permit = under_way.0.take().or_else(|| breaking::retry(worker, &view));
    let permit = permit.ok_or(Cause::CircuitOpen)?;
    let terms = &view.config.retry;
    let slot = slot(worker, &view);
    let windows = view.live.slots.iter().map(|slot| &slot.window);
    if !budget::allows(terms, budget::spent(windows, terms, now)) {
        slot.counters.retries_refused.add(1);
        return Err(Cause::RetryBudget);
    }
    slot.counters.retries.add(1);
    slot.window.attempt(terms, now);
    under_way.0.set(Some(permit));
    Ok(())
}

/// Waits before further attempt number `attempt`, after these servers have failed; says what ended the exchange
/// meanwhile, if something did.
pub async fn back_off<N: Net>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    failed: &[ServerId],
    attempt: u32,
    patience: &Patience<'_, N>,
) -> Option<Cause> {
    let begins = begins(worker, pool, failed, attempt);
    if begins <= worker.rt.now() {
        return None;
    }
    slot(worker, &pool.view.borrow()).counters.backed_off.add(1);
    std::future::poll_fn(|_| {
        let now = worker.rt.now();
        if let Some(cause) = patience.over(now) {
            return Poll::Ready(Some(cause));
        }
        if now >= begins {
            return Poll::Ready(None);
        }
        worker.rt.wake_at(patience.until(begins));
        Poll::Pending
    })
    .await
}

fn begins<N: Net>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    failed: &[ServerId],
    attempt: u32,
) -> Moment {
    let view = pool.view.borrow();
    let fresh = takes_work(&view, |id| !failed.contains(&id));
    let draw = worker.rng.borrow_mut().next();
    worker.rt.now() + pause::pause(&view.config.retry, attempt, fresh, draw)
}

/// What an attempt under way may be given up for while nothing of an answer was passed on. Only there when its request
/// may be sent again.
pub struct Another<'a, N: Net> {
    worker: &'a Worker<N>,
    pool: &'a LocalPool<N>,
    server: &'a LocalServer<N>,
    under_way: &'a UnderWay,
    /// How often its server had fallen when it began, or was looked at last.
    falls: Cell<u32>,
}

impl<'a, N: Net> Another<'a, N> {
    /// For an attempt that begins.
    pub fn new(
        worker: &'a Worker<N>,
        pool: &'a LocalPool<N>,
        server: &'a LocalServer<N>,
        under_way: &'a UnderWay,
    ) -> Another<'a, N> {
        Another { worker, pool, server, under_way, falls: Cell::new(server.falls.get()) }
    }

    /// Whether an answer of this status is given up for another attempt, which is taken from the budget.
    pub fn status(&self, on: &Statuses, status: u16) -> bool {
        if !on.has(status) || take(self.worker, self.pool, self.under_way).is_err() {
            return false;
        }
        slot(self.worker, &self.pool.view.borrow()).counters.statuses_retried.add(1);
        true
    }

    /// Whether its server was judged to be down since, and another one takes its work and is taken from the budget.
    /// Without a budget it waits on: its answer may come all the same.
    pub fn fallen(&self) -> bool {
        let falls = self.server.falls.get();
        if self.falls.replace(falls) == falls {
            return false;
        }
        let others = takes_work(&self.pool.view.borrow(), |id| id != self.server.id);
        if !others || take(self.worker, self.pool, self.under_way).is_err() {
            return false;
        }
        slot(self.worker, &self.pool.view.borrow()).counters.moved.add(1);
        true
    }
}

/// How many further attempts there may be after this failure. Where no source port is left towards a server, another
/// one may still be reached, and the same one may not.
pub fn limit(view: &PoolView, cause: Cause, failed: &[ServerId], own: Option<ServerId>) -> u8 {
    let untried = |id| Some(id) != own && !failed.contains(&id);
    match cause {
        Cause::NoSourcePort if !takes_work(view, untried) => 0,
        _ => view.config.retries,
    }
}

/// Whether one of these servers may take work.
fn takes_work(view: &PoolView, which: impl Fn(ServerId) -> bool) -> bool {
    let may = |state| matches!(state, ServerState::Up | ServerState::Unknown);
    view.servers.iter().any(|one| may(one.state) && one.weight.get() > 0 && which(one.id))
}

fn slot<'a, N: Net>(worker: &Worker<N>, view: &'a PoolView) -> &'a PoolSlot {
    &view.live.slots[worker.index]
}
