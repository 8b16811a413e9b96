//! The checked configuration of the history on disk.

use serde::Serialize;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HistoryRetention {
    pub size: u64,
    /// Retention time.
    pub keep: Duration,
    /// Interval between records.
    pub step: Duration,
}
