//! The checked configuration of hedging.

use serde::Serialize;
use std::time::Duration;

/// When a request is also sent to a second server, because the first has not started to respond.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HedgingConfig {
    pub after: HedgeDelay,
    /// Minimum delay, regardless of the percentile; default 5 ms.
    pub at_least: Duration,
}

/// The delay before a request is also sent to a second server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HedgeDelay {
    /// A fixed delay.
    Time(Duration),
    /// A percentile of the pool's recent response times; default 95.
    Percentile(u8),
}
