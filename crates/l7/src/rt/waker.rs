//! Wakers for code that knows tasks only by `std::task::Waker`: libraries that are driven inside a worker.
//!
//! A waker may be woken from anywhere; the task's turn comes at its own worker. What belongs to a worker alone is woken
//! by `Rt::wake`, which costs less.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Wake;

use super::task::TaskId;

/// Tasks of one worker that were woken by their wakers and have not been told yet.
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
    /// Moves them to `into`.
    pub(super) fn take(&self, into: &mut Vec<TaskId>) {
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
        self.woken.any.store(true, Ordering::Release);
    }
}
