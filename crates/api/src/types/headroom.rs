//! How much of every limit is in use, and how long it lasts. It forecasts nothing itself.

use serde::{Deserialize, Serialize};

/// How much of a limit is in use, and how long it lasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeadroomReport {
    /// What is limited: `connections`, `file descriptors`, `flows`, `source ports`.
    pub resource: String,
    /// Whose it is: a service, a server, the process, a source and a destination.
    #[serde(alias = "of")]
    pub subject: String,
    /// In use.
    pub used: u64,
    /// The most.
    pub limit: u64,
    /// When the limit is met if the use goes on growing as in the last two minutes; absent: it does not grow, or too
    /// unevenly to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted_in_ms: Option<u64>,
}
