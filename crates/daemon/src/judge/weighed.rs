//! The arithmetic of the weights in force and of ejections, for those who ask. It judges nothing and keeps no history.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use model::eject;
use model::id::ServerId;
use model::weigh::Row;

/// The newest arithmetic of ejections by server, and when it was made.
type Sums = HashMap<ServerId, (eject::Sum, SystemTime)>;

/// The newest arithmetic by server: of weights, and of ejections.
#[derive(Debug, Default)]
pub struct Weighed(Mutex<HashMap<ServerId, Sum>>, Mutex<Sums>);

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

    /// Replaces what was known of ejections.
    pub(super) fn put_ejections(&self, sums: Vec<(ServerId, eject::Sum)>, at: SystemTime) {
        let sums = sums.into_iter().map(|(server, sum)| (server, (sum, at))).collect();
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) = sums;
    }

    /// The arithmetic of a server's ejection, and when it was looked at last; `None`: nobody puts it out.
    pub fn ejection(&self, server: ServerId) -> Option<(eject::Sum, SystemTime)> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).get(&server).cloned()
    }

    fn sums(&self) -> MutexGuard<'_, HashMap<ServerId, Sum>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
