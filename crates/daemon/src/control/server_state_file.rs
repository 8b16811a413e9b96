//! The file in which operators' server commands and results of health checks outlive the process. Trouble with it is
//! logged and counted, and never fails a command.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::state::saved_state::{SavedState, VERSION};
use crate::util::atomic_file;
use crate::util::event::EventLog;

/// Between two looks whether something changed that nobody ordered.
const LOOK: Duration = Duration::from_secs(5);
/// Bytes that the file may have.
const BYTES: u64 = 16 << 20;

/// The file, and what is in it as far as we know.
#[derive(Debug)]
pub(super) struct ServerStateFile {
    path: Option<PathBuf>,
    written: SavedState,
    last_check: SystemTime,
    failures: u64,
    last_error: String,
    events: EventLog,
}

impl ServerStateFile {
    /// Reads what the process before kept below `state`; `None`: nothing is kept.
    pub fn open(state: Option<&Path>, events: EventLog) -> ServerStateFile {
        let path = state.map(|state| state.join("servers.json"));
        let written = SavedState::default();
        let looked = SystemTime::now();
        let failures = 0;
        let why = String::new();
        let mut words = ServerStateFile {
            path,
            written,
            last_check: looked,
            failures,
            last_error: why,
            events,
        };
        if let Some(path) = words.path.clone() {
            match read(&path) {
                Ok(memory) => words.written = memory,
                Err(error) => {
                    words.record_failure("read", &path, &error);
                    atomic_file::set_aside(&path, &error, &words.events);
                }
            }
        }
        words
    }

    pub fn saved_state(&self) -> &SavedState {
        &self.written
    }

    /// Writes these if they differ from what is in the file.
    pub fn save(&mut self, memory: SavedState) {
        if memory == self.written {
            return;
        }
        let Some(path) = self.path.clone() else { return };
        let write = || -> io::Result<()> {
            let json = serde_json::to_vec_pretty(&memory).map_err(io::Error::other)?;
            if let Some(directory) = path.parent() {
                files::create::make_dir(directory, 0o750)?;
            }
            atomic_file::replace(&path, &json)
        };
        match write() {
            Ok(()) => self.written = memory,
            Err(error) => self.record_failure("write", &path, &error),
        }
    }

    /// Whether it is time to look for what changed by itself; if so, the next time is later.
    pub fn is_due(&mut self, now: SystemTime) -> bool {
        // A clock that was set back makes it due at once.
        let due = now.duration_since(self.last_check).is_ok_and(|since| since >= LOOK);
        let back = now < self.last_check;
        if due || back {
            self.last_check = now;
        }
        due || back
    }

    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Why the last one did.
    pub fn last_error(&self) -> &str {
        &self.last_error
    }

    fn record_failure(&mut self, what: &str, path: &Path, error: &io::Error) {
        self.failures += 1;
        self.last_error = error.to_string();
        // The first is told, then ever fewer; all are counted.
        if !self.failures.is_power_of_two() {
            return;
        }
        let path = path.display();
        self.events.warn(
            "words-not-kept",
            format!(
                "cannot {what} {path}: {error}; what operators say of servers holds until this process ends"
            ),
        );
    }
}

fn read(path: &Path) -> io::Result<SavedState> {
    let Some(text) = atomic_file::read_own(path, BYTES)? else { return Ok(SavedState::default()) };
    let memory: SavedState = serde_json::from_str(&text).map_err(io::Error::other)?;
    if memory.version != VERSION {
        return Err(io::Error::other("written by another version"));
    }
    Ok(memory)
}
