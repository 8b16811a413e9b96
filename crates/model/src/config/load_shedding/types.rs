//! The checked configuration of load shedding.

use serde::Serialize;
use std::time::Duration;

/// When what waits for a server is shed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LoadSheddingConfig {
    /// The longest wait of the queue that is still good; default 50 ms.
    pub target: Duration,
    /// It stands above that for so long before anything is shed; default 500 ms.
    pub interval: Duration,
}
