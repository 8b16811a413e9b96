//! The file in which operators' words outlive the process. Trouble with it is told and counted, never a failure of
//! what was asked for.

use std::io;
use std::path::{Path, PathBuf};

use crate::event::Events;
use crate::keep;
use crate::reconcile::memory::{Memory, VERSION};

/// Bytes that the file may have.
const BYTES: u64 = 16 << 20;

/// The file, and what is in it as far as we know.
#[derive(Debug)]
pub(super) struct Words {
    path: Option<PathBuf>,
    written: Memory,
    failures: u64,
    events: Events,
}

impl Words {
    /// Reads what the process before kept below `state`; `None`: nothing is kept.
    pub fn open(state: Option<&Path>, events: Events) -> Words {
        let path = state.map(|state| state.join("servers.json"));
        let mut words = Words { path, written: Memory::default(), failures: 0, events };
        if let Some(path) = words.path.clone() {
            match read(&path) {
                Ok(memory) => words.written = memory,
                Err(error) => words.trouble("read", &path, &error),
            }
        }
        words
    }

    /// What was read.
    pub fn memory(&self) -> &Memory {
        &self.written
    }

    /// Writes these if they differ from what is in the file.
    pub fn keep(&mut self, memory: Memory) {
        if memory == self.written {
            return;
        }
        let Some(path) = self.path.clone() else { return };
        let write = || -> io::Result<()> {
            let json = serde_json::to_vec_pretty(&memory).map_err(io::Error::other)?;
            if let Some(directory) = path.parent() {
                std::fs::create_dir_all(directory)?;
            }
            keep::replace(&path, &json)
        };
        match write() {
            Ok(()) => self.written = memory,
            Err(error) => self.trouble("write", &path, &error),
        }
    }

    /// Attempts that failed.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    fn trouble(&mut self, what: &str, path: &Path, error: &io::Error) {
        self.failures += 1;
        let path = path.display();
        self.events.warn(
            "words-not-kept",
            format!(
                "cannot {what} {path}: {error}; what operators say of servers holds until this process ends"
            ),
        );
    }
}

fn read(path: &Path) -> io::Result<Memory> {
    let Some(text) = keep::read(path, BYTES)? else { return Ok(Memory::default()) };
    let memory: Memory = serde_json::from_str(&text).map_err(io::Error::other)?;
    if memory.version != VERSION {
        return Err(io::Error::other("written by another version"));
    }
    Ok(memory)
}
