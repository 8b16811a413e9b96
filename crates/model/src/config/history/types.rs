//! The checked configuration of the history on disk.

use serde::Serialize;
use std::time::Duration;

/// How much history is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HistoryRetention {
    /// Bytes on disk.
    pub size: u64,
    /// How long.
    pub keep: Duration,
    /// Between two records.
    pub step: Duration,
}
