//! The checked configuration of hedging.

use serde::Serialize;
use std::time::Duration;

/// When a second server is asked for what a first one has not begun to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HedgingConfig {
    /// After how long.
    pub after: HedgeDelay,
    /// Not sooner than this, whatever the percentile is; default 5 ms.
    pub at_least: Duration,
}

/// How long a first server may be silent before a second one is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HedgeDelay {
    /// So long.
    Time(Duration),
    /// As long as so many percent of the pool's answers took lately at most; default 95.
    Percentile(u8),
}
