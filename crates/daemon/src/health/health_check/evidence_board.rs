//! The newest evidence of each server, for those who ask. It judges nothing and keeps no history.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use model::id::ServerId;
use serde::{Deserialize, Serialize};

use super::target::format_duration;

#[derive(Debug, Default)]
pub struct EvidenceBoard(
    Mutex<HashMap<ServerId, EvidenceEntry>>,
    Mutex<HashMap<ServerId, Duration>>,
);

/// A piece of evidence about a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EvidenceEntry {
    /// The probe that it comes from: `http GET /healthz at 10.0.0.11:8080`; `None`: from clients' connections.
    pub probe: Option<String>,
    /// What was seen, without the time that it took.
    pub saw: String,
    /// How long it took; `None`: nobody measured it.
    pub took: Option<Duration>,
    /// It speaks for the server.
    pub good: bool,
    /// So many of the same kind, good or bad, came in a row.
    pub in_a_row: u32,
    /// When.
    pub at: SystemTime,
}

impl EvidenceEntry {
    pub fn describe(&self) -> String {
        match self.took.filter(|_| self.good) {
            Some(took) => format!("{} in {}", self.saw, format_duration(took)),
            // Why it failed says how long that took, where it matters.
            None => self.saw.clone(),
        }
    }
}

impl EvidenceBoard {
    /// Replaces what was known.
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

    /// What the last probe that succeeded took.
    pub fn probe_time(&self, server: ServerId) -> Option<Duration> {
        self.times().get(&server).copied()
    }

    /// What was seen last.
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
