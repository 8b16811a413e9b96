//! What was: rates and states of a stretch of time, from the history that the daemon keeps on disk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Query of `GET /v1/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct HistoryQuery {
    /// Start of the time.
    pub since_unix_ms: u64,
    /// End of the time; absent: now.
    pub until_unix_ms: Option<u64>,
}

/// Answer of `GET /v1/history`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct History {
    /// Start of the time.
    pub since_unix_ms: u64,
    /// End of the time.
    pub until_unix_ms: u64,
    /// Part of that time that the history covers, milliseconds.
    pub covered_ms: u64,
    /// Records that were read.
    pub records: u64,
    /// Bytes of its files that could not be read, because of a crash or damage.
    pub unreadable_bytes: u64,
    /// Records that could not be written since the daemon started.
    pub failures: u64,
    /// Services, servers and the process, by name.
    pub rows: Vec<HistoryRow>,
}

/// One thing that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HistoryRow {
    /// `service/shop`, `packets/shop`, `server/web/a`, `process`.
    pub name: String,
    /// Sums of counters, and the highest values of gauges.
    #[serde(alias = "numbers")]
    pub values: BTreeMap<String, u64>,
    /// Counts per second, over the covered time.
    pub rates: BTreeMap<String, f64>,
    /// Unit of `points`: `requests a second`, `share of time up`.
    #[serde(alias = "line-of")]
    pub points_unit: String,
    /// Values of equal parts of the time; absent where nothing is known.
    #[serde(alias = "line")]
    pub points: Vec<Option<f64>>,
    /// Records with the most errors, the worst first.
    pub worst: Vec<WorstRecord>,
}

/// A record with much trouble.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WorstRecord {
    /// End of the record.
    pub at_unix_ms: u64,
    /// Length of the record, milliseconds.
    pub span_ms: u64,
    /// Kind of the events: `failed`.
    #[serde(alias = "what")]
    pub kind: String,
    /// Number of bad events.
    pub count: u64,
}
