//! The newest evidence of each server, for those who ask. It judges nothing and keeps no history.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use model::id::ServerId;

/// Evidence by server.
#[derive(Debug, Default)]
pub struct Board(Mutex<HashMap<ServerId, Note>>, Mutex<HashMap<ServerId, Duration>>);

/// One server's newest evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// From a probe; otherwise from clients' connections.
    pub probed: bool,
    /// What was seen.
    pub text: String,
    /// When.
    pub at: SystemTime,
}

impl Board {
    /// Replaces what was known.
    pub(super) fn put(&self, server: ServerId, note: Note) {
        self.notes().insert(server, note);
    }

    /// A probe succeeded in so long.
    pub(super) fn took(&self, server: ServerId, time: Duration) {
        self.times().insert(server, time);
    }

    /// Forgets a server.
    pub(super) fn forget(&self, server: ServerId) {
        self.notes().remove(&server);
        self.times().remove(&server);
    }

    /// What the last probe that succeeded took.
    pub fn time(&self, server: ServerId) -> Option<Duration> {
        self.times().get(&server).copied()
    }

    /// What was seen last.
    pub fn read(&self, server: ServerId) -> Option<Note> {
        self.notes().get(&server).cloned()
    }

    fn times(&self) -> MutexGuard<'_, HashMap<ServerId, Duration>> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notes(&self) -> MutexGuard<'_, HashMap<ServerId, Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
