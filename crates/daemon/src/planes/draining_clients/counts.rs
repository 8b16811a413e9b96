//! The latest counts of clients that draining servers still have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use model::id::ServerId;

/// The clients that remain on a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemainingClients {
    /// Clients in affinity tables.
    pub clients: u64,
    /// There may be more that no table holds: clients with an affinity cookie, or of a packet plane that has not
    /// counted yet.
    pub uncounted: bool,
    /// Exchanges and connections under way.
    pub in_flight: u64,
}

impl RemainingClients {
    /// Whether the last client has certainly disconnected.
    pub fn is_none(&self) -> bool {
        self.clients == 0 && !self.uncounted && self.in_flight == 0
    }
}

/// The latest counts, by draining server.
#[derive(Debug, Default)]
pub struct DrainingClients(Mutex<Arc<HashMap<ServerId, RemainingClients>>>);

impl DrainingClients {
    pub fn read(&self) -> Arc<HashMap<ServerId, RemainingClients>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn replace(&self, left: HashMap<ServerId, RemainingClients>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(left);
    }
}
