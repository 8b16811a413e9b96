//! The wait queue of a pool: tasks that wait for a server below its cap, ordered by priority class, and by arrival
//! within a class.
//!
//! A task that is not first also waits if a slot is free: the slot is for the first task. If the queue exceeds its
//! limit, or is longer than servers can serve in time (`model::load_shedding`), its last task is rejected.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use model::cause::Cause;
use model::circuit_breaker::{BreakerPermit, BreakerResource};
use model::load_shedding::LoadShedder;
use model::snapshot::PoolView;
use model::wait_queue::{PriorityClass, PriorityWaitQueue};

use crate::rt::{NetDriver, TaskId, WorkerRuntime};

#[derive(Default)]
pub struct WaitQueue {
    waiters: RefCell<PriorityWaitQueue<Waiter>>,
    shed: RefCell<LoadShedder>,
}

struct Waiter {
    task: TaskId,
    /// The task excludes servers that it has tried, so a free slot may not be for it. It does not block the tasks
    /// behind it.
    picky: bool,
    /// The cause of its rejection, if it was rejected.
    dismissal: Rc<Cell<Option<Cause>>>,
    /// Counts the task while it waits.
    _permit: BreakerPermit,
}

/// The pool and worker of a queue operation.
pub struct QueueContext<'a> {
    /// The pool's view in the snapshot.
    pub view: &'a PoolView,
    pub worker: usize,
    pub clock: u64,
}

/// A place in the queue, released when dropped.
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

    /// Whether no other task has precedence over the current one, which has this class. Tasks that exclude servers do
    /// not count.
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

    /// Wakes the tasks that may take a slot that became free.
    pub fn wake_waiters<N: NetDriver>(&self, rt: &WorkerRuntime<N>) {
        for waiter in self.waiters.borrow().iter() {
            rt.wake(waiter.task);
            if !waiter.picky {
                break;
            }
        }
    }

    /// Adds the current task behind all tasks of its class and above.
    ///
    /// # Errors
    /// The cause of its rejection.
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

    /// Counts one more waiting task. If the circuit breaker is open, the task replaces one of a lower class.
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
            // A task of another worker may take the free place; then this task is rejected like any other.
            (lower && self.dismiss_last(rt, Cause::CircuitOpen))
                .then(|| breakers.try_acquire(BreakerResource::Pending, most))
                .flatten()
        })
    }

    /// Rejects the tasks beyond what the servers can serve in time.
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

    /// Rejects the last task; false: the queue is empty.
    fn dismiss_last<N: NetDriver>(&self, rt: &WorkerRuntime<N>, why: Cause) -> bool {
        let Some(last) = self.waiters.borrow_mut().pop_last() else { return false };
        last.item.dismissal.set(Some(why));
        rt.wake(last.item.task);
        true
    }
}

impl<N: NetDriver> QueueTicket<'_, N> {
    /// The cause of the task's rejection, if it was rejected.
    pub fn dismissal(&self) -> Option<Cause> {
        self.dismissal.get()
    }

    /// Leaves the queue because the task has got a server.
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
