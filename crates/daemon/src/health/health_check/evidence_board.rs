//! The newest evidence of each server, for reports. It keeps no history.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::id::ServerId;

use crate::state::evidence::EvidenceEntry;

#[derive(Debug, Default)]
pub struct EvidenceBoard(
    Mutex<HashMap<ServerId, EvidenceEntry>>,
    Mutex<HashMap<ServerId, Duration>>,
);

impl EvidenceBoard {
    pub(super) fn replace(&self, server: ServerId, note: EvidenceEntry) {
        if let Some(took) = note.took.filter(|_| note.good) {
            self.times().insert(server, took);
        }
        self.notes().insert(server, note);
    }

    pub(super) fn forget(&self, server: ServerId) {
        self.notes().remove(&server);
        self.times().remove(&server);
    }

    /// The duration of the last successful probe.
    pub fn probe_time(&self, server: ServerId) -> Option<Duration> {
        self.times().get(&server).copied()
    }

    pub fn latest(&self, server: ServerId) -> Option<EvidenceEntry> {
        self.notes().get(&server).cloned()
    }

    fn times(&self) -> MutexGuard<'_, HashMap<ServerId, Duration>> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notes(&self) -> MutexGuard<'_, HashMap<ServerId, EvidenceEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
