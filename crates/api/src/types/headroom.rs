//! How much of every limit is in use, and how long it lasts. It forecasts nothing itself.

use serde::{Deserialize, Serialize};

/// How much of a limit is in use, and how long it lasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeadroomReport {
    /// The limited resource: `connections`, `file descriptors`, `flows`, `source ports`.
    pub resource: String,
    /// The owner of the limit: a service, a server, the process, a source and a destination.
    #[serde(alias = "of")]
    pub subject: String,
    /// Current use.
    pub used: u64,
    /// The limit.
    pub limit: u64,
    /// Time until the limit is reached if the use grows as in the last two minutes, milliseconds; absent: it does not
    /// grow steadily.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted_in_ms: Option<u64>,
}
