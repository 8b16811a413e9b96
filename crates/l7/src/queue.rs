//! Tasks that wait for a server below its cap, in the order in which they came.
//!
//! Whoever comes later stands behind, also when a slot happens to be free at that moment: it is for the first. It
//! keeps no time and chooses no server.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::rt::{Net, Rt, TaskId};

/// The queue of one pool.
#[derive(Default)]
pub struct Queue {
    waiting: RefCell<VecDeque<Waiter>>,
}

#[derive(Clone, Copy)]
struct Waiter {
    task: TaskId,
    /// It has tried servers that it does not want again: what is free may not be for it, so it holds nobody up.
    picky: bool,
}

/// A place in the queue, given up when dropped.
pub struct Place<'a, N: Net> {
    queue: &'a Queue,
    rt: &'a Rt<N>,
    task: Option<TaskId>,
}

impl Queue {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Whether nobody came before the current task that would take any server.
    #[inline]
    pub fn lets<N: Net>(&self, rt: &Rt<N>) -> bool {
        let waiting = self.waiting.borrow();
        let first =
            waiting.iter().find(|waiter| !waiter.picky || Some(waiter.task) == rt.current());
        first.is_none_or(|waiter| Some(waiter.task) == rt.current())
    }

    /// Lets those look again who may take what became free.
    pub fn call<N: Net>(&self, rt: &Rt<N>) {
        for waiter in self.waiting.borrow().iter() {
            rt.wake(waiter.task);
            if !waiter.picky {
                break;
            }
        }
    }

    /// The last place, for the current task.
    pub fn enter<'a, N: Net>(&'a self, rt: &'a Rt<N>, picky: bool) -> Place<'a, N> {
        let task = rt.current();
        self.waiting.borrow_mut().extend(task.map(|task| Waiter { task, picky }));
        Place { queue: self, rt, task }
    }
}

impl<N: Net> Drop for Place<'_, N> {
    fn drop(&mut self) {
        self.queue.waiting.borrow_mut().retain(|waiter| Some(waiter.task) != self.task);
        self.queue.call(self.rt);
    }
}
