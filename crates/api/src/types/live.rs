//! State and rates as they change: what `GET /v1/stream` carries beside events.
//!
//! The first update is a `state` with everything; a `change` has the same form and holds only the services, pools and
//! servers that differ from what was sent before, which the reader replaces by name. Whatever is not in such a list
//! (totals, the process, packets, warnings, members) is always whole. When names came or went, and after a loss, a
//! `state` is sent again.

use serde::{Deserialize, Serialize};

use super::report::Report;
use super::status::Status;

/// Data of `state` and `change`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StateUpdate {
    /// Number of the update; each is one higher than the one before.
    pub sequence: u64,
    /// Time until the next update, milliseconds. After several times this without an update the data is out of date.
    pub next_ms: u64,
    /// States and reasons.
    pub status: Status,
    /// Counters and rates.
    pub report: Report,
}

/// Data of `lost`: the reader was too slow, and what follows is a `state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LostUpdates {
    /// Updates that were not sent.
    pub updates: u64,
    /// Events that were not sent; `GET /v1/events` has the latest.
    pub events: u64,
}
