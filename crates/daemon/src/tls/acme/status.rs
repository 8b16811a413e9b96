//! The state of orders, for the status, the metrics and tasks that wait for one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// All of them, by their keys.
#[derive(Debug, Default)]
pub struct AcmeOrders(Mutex<BTreeMap<String, AcmeOrderStatus>>);

/// One certificate that is ordered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcmeOrderStatus {
    pub names: Vec<String>,
    pub directory: String,
    /// When it is ordered next, seconds since 1970; `None`: an order is under way.
    pub next: Option<u64>,
    /// Failed orders in a row.
    pub failures: u32,
    /// Why the last one did; `None`: it did not.
    pub trouble: Option<String>,
    /// Orders that brought a certificate.
    pub done: u64,
    pub failed: u64,
}

impl AcmeOrders {
    /// Updates the status of an order.
    pub fn note(&self, key: &str, change: impl FnOnce(&mut AcmeOrderStatus)) {
        change(self.rows().entry(key.to_owned()).or_default());
    }

    /// Removes an order that is no longer configured.
    pub fn forget(&self, key: &str) {
        self.rows().remove(key);
    }

    /// All, in the order of their keys.
    pub fn statuses(&self) -> Vec<AcmeOrderStatus> {
        self.rows().values().cloned().collect()
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<String, AcmeOrderStatus>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
