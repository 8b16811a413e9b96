//! The arithmetic of the weights in force, for those who ask. It weighs nothing and keeps no history.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use model::id::ServerId;
use model::weigh::Row;

/// The newest arithmetic by server.
#[derive(Debug, Default)]
pub struct Weighed(Mutex<HashMap<ServerId, Sum>>);

/// One server's.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// The judge's row.
    pub row: Row,
    /// The change of all weights of the pool, in percent of their sum.
    pub change: f64,
    /// When it was made.
    pub at: SystemTime,
}

impl Weighed {
    /// Replaces what was known.
    pub(super) fn put(&self, server: ServerId, sum: Sum) {
        self.sums().insert(server, sum);
    }

    /// Forgets servers that are not judged any more.
    pub(super) fn keep(&self, judged: impl Fn(ServerId) -> bool) {
        self.sums().retain(|server, _| judged(*server));
    }

    /// What was made of a server's weight last.
    pub fn read(&self, server: ServerId) -> Option<Sum> {
        self.sums().get(&server).cloned()
    }

    fn sums(&self) -> MutexGuard<'_, HashMap<ServerId, Sum>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
