//! The one task that waits until others do something: housekeeping, which is not needed while nothing happens.

use std::cell::Cell;
use std::task::Poll;

use super::task::TaskId;

/// A place for one parked task.
#[derive(Debug, Default)]
pub struct ParkedTask(Cell<Option<TaskId>>);

impl ParkedTask {
    /// Waits in this task until another one has been polled.
    pub async fn wait_others(&self, current: Option<TaskId>) {
        let mut is_parked = false;
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut is_parked, true) {
                return Poll::Ready(());
            }
            self.0.set(current);
            Poll::Pending
        })
        .await;
    }

    /// The parked task, which has to run again because `polled` runs now.
    #[inline]
    pub(super) fn release_for(&self, polled: TaskId) -> Option<TaskId> {
        let parked = self.0.get().filter(|parked| *parked != polled)?;
        self.0.set(None);
        Some(parked)
    }
}
