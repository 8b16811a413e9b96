//! The checked configuration of outlier detection.

use crate::config::status_range::StatusRange;
use crate::config::status_ranges::StatusRanges;
use serde::Serialize;
use std::time::Duration;

/// When a server is ejected for its responses, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct OutlierDetectionConfig {
    /// Consecutive failures; default 5.
    pub failures: u32,
    /// Failures in the interval, percent of responses and failures; default 50.
    pub rate: u8,
    /// Responses cut off in the body, percent of responses and failures; at least three of them. Default 5.
    pub cut_rate: u8,
    /// Minimum number of responses and failures in the interval for `rate`; default 10.
    pub volume: u32,
    /// The measurement interval; default 1 s.
    pub interval: Duration,
    /// Duration of the first ejection; each further one doubles it. Default 5 s.
    pub time: Duration,
    /// The longest ejection; default 5 min.
    pub most: Duration,
    /// Limit for ejected servers, percent of the pool, including servers that are down; default 50.
    pub share: u8,
    /// Statuses that count as failures; default 502–504.
    pub on: StatusRanges,
}

impl Default for OutlierDetectionConfig {
    fn default() -> Self {
        OutlierDetectionConfig {
            failures: 5,
            rate: 50,
            cut_rate: 5,
            volume: 10,
            // A second finds a failing server quickly. A longer interval would need fewer requests for the same
            // `volume`.
            interval: Duration::from_secs(1),
            // Five seconds are time for a restart of the server's process; doubling keeps a lasting fault out for
            // longer.
            time: Duration::from_secs(5),
            // Five minutes, as Envoy's max_ejection_time: a repaired server is back within them.
            most: Duration::from_secs(300),
            share: 50,
            on: StatusRanges(vec![StatusRange { first: 502, last: 504 }]),
        }
    }
}
