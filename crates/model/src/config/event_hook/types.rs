//! The checked configuration of programs that are started for events.

use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// A program that is started for events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct EventHook {
    /// Its name.
    pub name: String,
    /// The program; run as it is, never by a shell.
    pub run: PathBuf,
    /// Kinds of events; `all` among them: every kind.
    pub on: Vec<&'static str>,
    /// It is killed after so long.
    pub timeout: Duration,
    /// So many may run at a time.
    pub at_once: usize,
    /// So many events may wait.
    pub queue: usize,
}
