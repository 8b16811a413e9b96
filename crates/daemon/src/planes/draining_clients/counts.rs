//! The latest counts of clients that draining servers still have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::id::ServerId;

/// What is left of a server's clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemainingClients {
    /// Clients that are remembered to be its own.
    pub clients: u64,
    /// There may be more that nobody remembers: they carry a cookie of ours, or the packet plane has not counted yet.
    pub uncounted: bool,
    /// Exchanges and connections under way.
    pub in_flight: u64,
}

impl RemainingClients {
    /// Whether the last one has certainly gone.
    pub fn is_none(&self) -> bool {
        self.clients == 0 && !self.uncounted && self.in_flight == 0
    }
}

/// What was counted last, by server that keeps clients.
#[derive(Debug, Default)]
pub struct DrainingClients(Mutex<Arc<HashMap<ServerId, RemainingClients>>>);

impl DrainingClients {
    /// What was counted last.
    pub fn read(&self) -> Arc<HashMap<ServerId, RemainingClients>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces what was known.
    pub(super) fn replace(&self, left: HashMap<ServerId, RemainingClients>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(left);
    }
}
