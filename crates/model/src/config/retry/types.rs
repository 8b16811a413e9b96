//! The checked configuration of retries.

use crate::config::status_ranges::StatusRanges;
use serde::Serialize;
use std::time::Duration;

/// The failures that are retried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RetryConditions {
    /// A server received at least a part of the request and did not respond in time.
    pub on_timeout: bool,
    /// A response was malformed.
    pub on_malformed: bool,
    /// All other failures are retried only if no server can have received a byte of the request.
    pub unsent_only: bool,
}

/// The retry budget, and which responses are retried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RetryConfig {
    /// Retries in percent of the requests in the window; `None`: no budget. Default 20.
    pub budget: Option<u8>,
    /// Retries a second allowed in addition to the budget; default 10.
    pub at_least: u32,
    /// The window of the budget; default 10 s.
    pub window: Duration,
    /// Upper bound of the random back-off before the second retry; doubled for each further one. Default 25 ms.
    pub back_off: Duration,
    /// Upper bound of all back-offs; default 250 ms.
    pub back_off_most: Duration,
    /// Statuses of responses that are discarded while a retry is allowed; default none.
    pub on: StatusRanges,
    /// Retries go to servers of a later priority once all servers before were tried; default false.
    pub backup: bool,
    /// Further failures that are retried; default none.
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
            backup: false,
            wishes: RetryConditions::default(),
        }
    }
}
