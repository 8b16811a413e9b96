//! The checked configuration of outlier detection.

use crate::config::status_ranges::StatusRanges;
use serde::Serialize;
use std::time::Duration;

/// When a server is put out for what it answers, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct OutlierDetectionConfig {
    /// Failures in a row; default 5.
    pub failures: u32,
    /// Failures of the interval, percent of its answers and failures; default 50.
    pub rate: u8,
    /// Answers cut in the middle, percent likewise; default 5, and at least three of them.
    pub cut_rate: u8,
    /// Answers and failures below which the interval's `rate` proves nothing; default 10.
    pub volume: u32,
    /// What is looked back on; default 1 s.
    pub interval: Duration,
    /// The first time out; each further one doubles. Default 5 s.
    pub time: Duration,
    /// The longest time out; default 5 min.
    pub most: Duration,
    /// Servers that may be out, percent of the pool, those that are down counted; default 50.
    pub share: u8,
    /// Answers that count as failures; default 502–504.
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
            // Five seconds outlast a restart of the server's process; doubling keeps a lasting fault out for longer.
            time: Duration::from_secs(5),
            // Five minutes, as Envoy's max_ejection_time: a repaired server is back within them.
            most: Duration::from_secs(300),
            share: 50,
            on: StatusRanges(vec![(502, 504)]),
        }
    }
}
