//! The file in which operators' server commands and results of health checks outlive the process. Trouble with it is
//! logged and counted, and never fails a command.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::state::saved_state::{SavedState, VERSION};
use crate::util::atomic_file;
use crate::util::event::EventLog;

/// The interval between checks for changes that no operator ordered, such as weights.
/// After a crash, weights are at most five seconds old.
const LOOK: Duration = Duration::from_secs(5);
/// Bytes that the file may have.
const BYTES: u64 = 16 << 20;

/// The file, and its content as far as it is known.
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
    /// Reads the state that the previous process stored below `state`; `None`: nothing is stored.
    pub fn open(state: Option<&Path>, events: EventLog) -> ServerStateFile {
        let path = state.map(|state| state.join("servers.json"));
        let written = SavedState::default();
        let looked = SystemTime::now();
        let failures = 0;
        let why = String::new();
        let mut state_file = ServerStateFile {
            path,
            written,
            last_check: looked,
            failures,
            last_error: why,
            events,
        };
        if let Some(path) = state_file.path.clone() {
            match read(&path) {
                Ok(memory) => state_file.written = memory,
                Err(error) => {
                    state_file.record_failure("read", &path, &error);
                    atomic_file::set_aside(&path, &error, &state_file.events);
                }
            }
        }
        state_file
    }

    pub fn saved_state(&self) -> &SavedState {
        &self.written
    }

    /// Writes the state if it differs from the file's.
    pub fn save(&mut self, memory: SavedState) {
        if memory == self.written {
            self.last_error.clear();
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
            Ok(()) => {
                self.written = memory;
                self.last_error.clear();
            }
            Err(error) => self.record_failure("write", &path, &error),
        }
    }

    /// Whether to check for changes now; if so, sets the time of the next check.
    pub fn is_due(&mut self, now: SystemTime) -> bool {
        // If the clock was set back, the write is due at once.
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

    /// Why the last attempt failed; empty: it did not.
    pub fn last_error(&self) -> &str {
        &self.last_error
    }

    fn record_failure(&mut self, action: &str, path: &Path, error: &io::Error) {
        self.failures += 1;
        self.last_error = error.to_string();
        // Only the failures 1, 2, 4, 8 and so on are logged, so that a full disk does not flood the log; all are
        // counted.
        if !self.failures.is_power_of_two() {
            return;
        }
        let path = path.display();
        self.events.warn(
            "server-commands-not-saved",
            format!(
                "cannot {action} {path}: {error}; what operators say of servers holds until this process ends"
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
