//! What was counted last of clients that draining servers keep, for those who ask. It counts nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::id::ServerId;

/// What is left of a server's clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Clients that are remembered to be its own.
    pub clients: u64,
    /// There may be more that nobody remembers: they carry a cookie of ours, or the packet plane has not counted yet.
    pub uncounted: bool,
    /// Exchanges and connections under way.
    pub under_way: u64,
}

impl Left {
    /// Whether the last one has certainly gone.
    pub fn is_none(&self) -> bool {
        self.clients == 0 && !self.uncounted && self.under_way == 0
    }
}

/// What was counted last, by server that keeps clients.
#[derive(Debug, Default)]
pub struct Board(Mutex<Arc<HashMap<ServerId, Left>>>);

impl Board {
    /// What was counted last.
    pub fn read(&self) -> Arc<HashMap<ServerId, Left>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces what was known.
    pub(super) fn put(&self, left: HashMap<ServerId, Left>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(left);
    }
}
