//! The process that handed over to this one, while it drains.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The connections that the previous process still drains after its handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainingConnections {
    pub pid: u32,
    pub since: SystemTime,
    pub connections: u64,
    /// Exchanges and `tcp` connections under way.
    pub exchanges: u64,
}

/// The previous process, if it reports.
#[derive(Debug, Default)]
pub struct Predecessor(Mutex<Option<DrainingConnections>>);

impl Predecessor {
    /// The previous process's draining connections. `None`: there is no such process, or it does not report.
    pub fn draining(&self) -> Option<DrainingConnections> {
        *self.lock()
    }

    pub fn replace(&self, draining: Option<DrainingConnections>) {
        *self.lock() = draining;
    }

    fn lock(&self) -> MutexGuard<'_, Option<DrainingConnections>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
