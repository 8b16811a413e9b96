//! The checked configuration of load shedding.

use serde::Serialize;
use std::time::Duration;

/// When queued requests are rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LoadSheddingConfig {
    /// The longest acceptable wait in the queue; default 50 ms.
    pub target: Duration,
    /// The wait must exceed `target` for this time before requests are rejected; default 500 ms.
    pub interval: Duration,
}
