//! The checked configuration of programs started on events.

use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// A program started on events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct EventHook {
    pub name: String,
    /// The program, executed directly without a shell.
    pub run: PathBuf,
    /// Kinds of events; `all` includes every kind.
    pub on: Vec<&'static str>,
    /// The program is killed after this time.
    pub timeout: Duration,
    /// Limit for concurrent runs.
    pub at_once: usize,
    /// Limit for queued events.
    pub queue: usize,
}
