//! Tasks that wait for a server below its cap: the higher class first, within a class in the order in which they came.
//!
//! Whoever stands behind waits also when a slot happens to be free at that moment: it is for the first. Where the queue is
//! at its limit, or held to what servers take in time (`model::shed`), its last one is told to go. It chooses no server.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use model::breaker::{Bound, Permit};
use model::cause::Cause;
use model::line::{Class, Line};
use model::shed::Shed;
use model::snapshot::PoolView;

use crate::rt::{Net, Rt, TaskId};

/// The queue of one pool.
#[derive(Default)]
pub struct Queue {
    line: RefCell<Line<Waiter>>,
    shed: RefCell<Shed>,
}

struct Waiter {
    task: TaskId,
    /// It has tried servers that it does not want again: what is free may not be for it, so it holds nobody up.
    picky: bool,
    /// Why it must go.
    told: Rc<Cell<Option<Cause>>>,
    /// Counts it while it waits.
    _waits: Permit,
}

/// Who asks, and of which pool.
pub struct Asks<'a> {
    /// What the snapshot says of the pool.
    pub view: &'a PoolView,
    /// The worker's number.
    pub worker: usize,
    /// The moment (`model::breaker::clock`).
    pub clock: u64,
}

/// A place in the queue, given up when dropped.
pub struct Place<'a, N: Net> {
    queue: &'a Queue,
    rt: &'a Rt<N>,
    task: TaskId,
    told: Rc<Cell<Option<Cause>>>,
}

impl Queue {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.line.borrow().len()
    }

    /// Whether nobody stands before the current task, which is of this class, that would take any server.
    #[inline]
    pub fn lets<N: Net>(&self, rt: &Rt<N>, class: Class) -> bool {
        let line = self.line.borrow();
        if line.is_empty() {
            return true;
        }
        let me = rt.current();
        let first = line.ahead(class).find(|one| !one.picky || Some(one.task) == me);
        first.is_none_or(|one| Some(one.task) == me)
    }

    /// Lets those look again who may take what became free.
    pub fn call<N: Net>(&self, rt: &Rt<N>) {
        for waiter in self.line.borrow().iter() {
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
    pub fn enter<'a, N: Net>(
        &'a self,
        rt: &'a Rt<N>,
        asks: &Asks<'_>,
        (class, picky): (Class, bool),
    ) -> Result<Place<'a, N>, Cause> {
        let task = rt.current().ok_or(Cause::Internal)?;
        let waits = self.counted(rt, asks, class).ok_or(Cause::CircuitOpen)?;
        let told = Rc::new(Cell::new(None));
        let waiter = Waiter { task, picky, told: told.clone(), _waits: waits };
        self.line.borrow_mut().enter(class, rt.now(), waiter);
        let place = Place { queue: self, rt, task, told };
        let most = asks.view.config.limit.queue as usize;
        while self.len() > most && self.tell(rt, Cause::QueueFull) {}
        self.look(rt, asks);
        place.told().map_or(Ok(place), Err)
    }

    /// Counts one more who waits, in the place of one of a lower class where there is no room.
    fn counted<N: Net>(&self, rt: &Rt<N>, asks: &Asks<'_>, class: Class) -> Option<Permit> {
        let live = &asks.view.live;
        let (breakers, most) = (&live.breakers, asks.view.config.breaker.pending);
        breakers.enter(Bound::Pending, most).or_else(|| {
            live.refused(Bound::Pending, asks.worker, asks.clock);
            let lower = self.line.borrow().last_class().is_some_and(|last| last < class);
            // Another worker's may take that room: then this one is refused like any other.
            (lower && self.tell(rt, Cause::CircuitOpen))
                .then(|| breakers.enter(Bound::Pending, most))
                .flatten()
        })
    }

    /// Sheds what is beyond what servers take in time.
    pub fn look<N: Net>(&self, rt: &Rt<N>, asks: &Asks<'_>) {
        let Some(terms) = &asks.view.config.shed else { return };
        let mut shed = self.shed.borrow_mut();
        let room = shed.room(terms, rt.now(), self.line.borrow().oldest());
        let Some(room) = room else { return };
        while self.len() > room && self.tell(rt, Cause::OverloadShed) {
            shed.shed();
            asks.view.live.shed(asks.worker, asks.clock);
        }
    }

    /// Tells the last one to go; false: there is none.
    fn tell<N: Net>(&self, rt: &Rt<N>, why: Cause) -> bool {
        let Some(last) = self.line.borrow_mut().pop() else { return false };
        last.who.told.set(Some(why));
        rt.wake(last.who.task);
        true
    }
}

impl<N: Net> Place<'_, N> {
    /// Why its task must go, if it must.
    pub fn told(&self) -> Option<Cause> {
        self.told.get()
    }

    /// Its task has a server.
    pub fn served(self) {
        self.queue.shed.borrow_mut().served();
    }
}

impl<N: Net> Drop for Place<'_, N> {
    fn drop(&mut self) {
        self.queue.line.borrow_mut().remove(|one| one.task == self.task);
        self.queue.call(self.rt);
    }
}
