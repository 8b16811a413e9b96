//! Wakers for libraries that know tasks only by `std::task::Waker`.
//!
//! A waker may be woken from any thread; its task runs on its own worker. A worker's own code wakes tasks with
//! `WorkerRuntime::wake`, which costs less.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;

use super::task::TaskId;

/// Tasks of one worker that their wakers have woken and that are not marked as runnable yet.
#[derive(Debug, Default)]
pub(super) struct WokenTasks {
    any: AtomicBool,
    tasks: Mutex<Vec<TaskId>>,
}

pub(super) struct TaskWaker {
    pub(super) task: TaskId,
    pub(super) woken: Arc<WokenTasks>,
}

impl WokenTasks {
    /// Moves the tasks to `into`.
    pub(super) fn take(&self, into: &mut Vec<TaskId>) {
        // The flag spares the lock when no task was woken. The lock orders the list; Acquire pairs with the Release
        // below.
        if self.any.swap(false, Ordering::Acquire) {
            into.append(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut tasks = self.woken.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.push(self.task);
        // Stored while the lock is held: a worker that sees the flag finds the task in the list.
        self.woken.any.store(true, Ordering::Release);
    }
}
