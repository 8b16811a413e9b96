//! The process that handed over to this one, while it drains.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// What a process has that drains after it handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainingConnections {
    pub pid: u32,
    pub since: SystemTime,
    pub connections: u64,
    /// Exchanges and `tcp` connections under way.
    pub exchanges: u64,
}

/// The process before, if it tells.
#[derive(Debug, Default)]
pub struct Predecessor(Mutex<Option<DrainingConnections>>);

impl Predecessor {
    /// What it has still; `None`: there is none, or it does not tell.
    pub fn draining(&self) -> Option<DrainingConnections> {
        *self.lock()
    }

    /// Replaces what was known.
    pub fn replace(&self, draining: Option<DrainingConnections>) {
        *self.lock() = draining;
    }

    fn lock(&self) -> MutexGuard<'_, Option<DrainingConnections>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
