//! What was: rates and states of a stretch of time, from the history that the daemon keeps on disk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Query of `GET /v1/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct HistoryQuery {
    /// From when.
    pub since_unix_ms: u64,
    /// Until when; absent: now.
    pub until_unix_ms: Option<u64>,
}

/// Answer of `GET /v1/history`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct History {
    /// From when.
    pub since_unix_ms: u64,
    /// Until when.
    pub until_unix_ms: u64,
    /// How much of that time the history covers.
    pub covered_ms: u64,
    /// Records that were read.
    pub records: u64,
    /// Bytes of its files that could not be read: what crashes left, or damage.
    pub unreadable_bytes: u64,
    /// Records that could not be written since the daemon's start.
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
    /// Counts added up, levels at their highest.
    #[serde(alias = "numbers")]
    pub values: BTreeMap<String, u64>,
    /// Counts a second, over the time that is covered.
    pub rates: BTreeMap<String, f64>,
    /// What `line` shows: `requests a second`, `share of time up`.
    #[serde(alias = "line-of")]
    pub points_unit: String,
    /// The time in equal parts: its value in each; absent where nothing is known.
    #[serde(alias = "line")]
    pub points: Vec<Option<f64>>,
    /// Records with the most trouble, the worst first; none where there was no trouble.
    pub worst: Vec<WorstRecord>,
}

/// A record with much trouble.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WorstRecord {
    /// Its end.
    pub at_unix_ms: u64,
    /// Its length.
    pub span_ms: u64,
    /// What was bad: `failed`.
    #[serde(alias = "what")]
    pub kind: String,
    /// How much.
    pub count: u64,
}
