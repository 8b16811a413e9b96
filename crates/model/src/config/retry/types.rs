//! The checked configuration of retries.

use crate::config::status_ranges::StatusRanges;
use serde::Serialize;
use std::time::Duration;

/// Failures after which another attempt is made only where that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RetryConditions {
    /// A server took the request, or a part of it, and went silent.
    pub on_timeout: bool,
    /// An answer broke the rules of HTTP.
    pub on_malformed: bool,
}

/// What further attempts may cost, and which answers ask for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RetryConfig {
    /// Further attempts, percent of the requests of the window; `None`: no budget. Default 20.
    pub budget: Option<u8>,
    /// Further attempts a second that are allowed besides; default 10.
    pub at_least: u32,
    /// What is looked back on; default 10 s.
    pub window: Duration,
    /// Before the second further attempt a random time up to this, before each later one up to twice as much as before
    /// the last; default 25 ms.
    pub back_off: Duration,
    /// The longest of these times; default 250 ms.
    pub back_off_most: Duration,
    /// Answers that are not passed on while another attempt may be made; default none.
    pub on: StatusRanges,
    /// Failures after which another attempt is made as well; default none.
    #[serde(flatten)]
    pub wishes: RetryConditions,
}

impl Default for RetryConfig {
    fn default() -> Self {
        RetryConfig {
            // A fifth: servers that all fail get 1.2 times the load, not three times as with two free retries each.
            budget: Some(20),
            at_least: 10,
            // Ten seconds smooth a burst, and with the floor they allow a hundred retries at once.
            window: Duration::from_secs(10),
            // The values of Envoy: 25 ms, doubled up to ten times that. Longer pauses would add to the latency of each
            // retried request.
            back_off: Duration::from_millis(25),
            back_off_most: Duration::from_millis(250),
            on: StatusRanges::default(),
            wishes: RetryConditions::default(),
        }
    }
}
