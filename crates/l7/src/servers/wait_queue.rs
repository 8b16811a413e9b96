//! The wait queue of a pool: tasks that wait for a server below its cap, the higher class first, within a class in
//! order of arrival.
//!
//! A task that is not first waits also while a slot is free at that moment: the slot is for the first. Where the queue
//! is over its limit, or longer than servers can serve in time (`model::load_shedding`), its last waiter is rejected.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use model::cause::Cause;
use model::circuit_breaker::{BreakerPermit, BreakerResource};
use model::load_shedding::LoadShedder;
use model::snapshot::PoolView;
use model::wait_queue::{PriorityClass, PriorityWaitQueue};

use crate::rt::{NetDriver, TaskId, WorkerRuntime};

/// The queue of one pool.
#[derive(Default)]
pub struct WaitQueue {
    waiters: RefCell<PriorityWaitQueue<Waiter>>,
    shed: RefCell<LoadShedder>,
}

struct Waiter {
    task: TaskId,
    /// It has tried servers that it does not want again: what is free may not be for it, so it holds nobody up.
    picky: bool,
    /// Why it must go.
    dismissal: Rc<Cell<Option<Cause>>>,
    /// Counts it while it waits.
    _permit: BreakerPermit,
}

/// Who context, and of which pool.
pub struct QueueContext<'a> {
    /// What the snapshot says of the pool.
    pub view: &'a PoolView,
    pub worker: usize,
    pub clock: u64,
}

/// A place in the queue, given up when dropped.
pub struct QueueTicket<'a, N: NetDriver> {
    queue: &'a WaitQueue,
    rt: &'a WorkerRuntime<N>,
    task: TaskId,
    dismissal: Rc<Cell<Option<Cause>>>,
}

impl WaitQueue {
    pub fn len(&self) -> usize {
        self.waiters.borrow().len()
    }

    /// Whether nobody stands before the current task, which is of this class, that would take any server.
    #[inline]
    pub fn may_pass<N: NetDriver>(&self, rt: &WorkerRuntime<N>, class: PriorityClass) -> bool {
        let waiters = self.waiters.borrow();
        if waiters.is_empty() {
            return true;
        }
        let me = rt.current();
        let first = waiters.entries_ahead(class).find(|one| !one.picky || Some(one.task) == me);
        first.is_none_or(|one| Some(one.task) == me)
    }

    /// Lets those look again who may take what became free.
    pub fn wake_waiters<N: NetDriver>(&self, rt: &WorkerRuntime<N>) {
        for waiter in self.waiters.borrow().iter() {
            rt.wake(waiter.task);
            if !waiter.picky {
                break;
            }
        }
    }

    /// A place for the current task behind all of its class and above.
    ///
    /// # Errors
    /// Why there is none for it.
    pub fn enter<'a, N: NetDriver>(
        &'a self,
        rt: &'a WorkerRuntime<N>,
        context: &QueueContext<'_>,
        class: PriorityClass,
        picky: bool,
    ) -> Result<QueueTicket<'a, N>, Cause> {
        let task = rt.current().ok_or(Cause::Internal)?;
        let waits = self.add_waiter(rt, context, class).ok_or(Cause::CircuitOpen)?;
        let dismissal = Rc::new(Cell::new(None));
        let waiter = Waiter { task, picky, dismissal: dismissal.clone(), _permit: waits };
        self.waiters.borrow_mut().push(class, rt.now(), waiter);
        let place = QueueTicket { queue: self, rt, task, dismissal };
        let most = context.view.config.limit.queue as usize;
        while self.len() > most && self.dismiss_last(rt, Cause::QueueFull) {}
        self.shed_excess(rt, context);
        place.dismissal().map_or(Ok(place), Err)
    }

    /// Counts one more who waits, in the place of one of a lower class where there is no room.
    fn add_waiter<N: NetDriver>(
        &self,
        rt: &WorkerRuntime<N>,
        context: &QueueContext<'_>,
        class: PriorityClass,
    ) -> Option<BreakerPermit> {
        let live = &context.view.stats;
        let breakers = &live.breakers;
        let most = context.view.config.breaker.pending;
        breakers.try_acquire(BreakerResource::Pending, most).or_else(|| {
            live.record_refusal(BreakerResource::Pending, context.worker, context.clock);
            let lower = self.waiters.borrow().last_class().is_some_and(|last| last < class);
            // Another worker's may take that room: then this one is refused like any other.
            (lower && self.dismiss_last(rt, Cause::CircuitOpen))
                .then(|| breakers.try_acquire(BreakerResource::Pending, most))
                .flatten()
        })
    }

    /// Sheds what is beyond what servers take in time.
    pub fn shed_excess<N: NetDriver>(&self, rt: &WorkerRuntime<N>, context: &QueueContext<'_>) {
        let Some(terms) = &context.view.config.shed else { return };
        let mut shed = self.shed.borrow_mut();
        let room = shed.queue_limit(terms, rt.now(), self.waiters.borrow().oldest_since());
        let Some(room) = room else { return };
        while self.len() > room && self.dismiss_last(rt, Cause::OverloadShed) {
            shed.record_shed();
            context.view.stats.record_shed(context.worker, context.clock);
        }
    }

    /// Tells the last one to go; false: there is none.
    fn dismiss_last<N: NetDriver>(&self, rt: &WorkerRuntime<N>, why: Cause) -> bool {
        let Some(last) = self.waiters.borrow_mut().pop_last() else { return false };
        last.item.dismissal.set(Some(why));
        rt.wake(last.item.task);
        true
    }
}

impl<N: NetDriver> QueueTicket<'_, N> {
    /// Why its task must go, if it must.
    pub fn dismissal(&self) -> Option<Cause> {
        self.dismissal.get()
    }

    /// Its task has a server.
    pub fn leave_served(self) {
        self.queue.shed.borrow_mut().record_served();
    }
}

impl<N: NetDriver> Drop for QueueTicket<'_, N> {
    fn drop(&mut self) {
        self.queue.waiters.borrow_mut().remove(|one| one.task == self.task);
        self.queue.wake_waiters(self.rt);
    }
}
