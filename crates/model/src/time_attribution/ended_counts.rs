//! Numbers of a service's exchanges that ended within a time. Plain data.

use crate::exchange_failure::ExchangeFailure;

/// Exchanges that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedCounts {
    /// Answered by a server, with a status below 500.
    pub answered: u64,
    /// By kind of failure.
    pub failures: Vec<FailureCount>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureCount {
    pub failure: ExchangeFailure,
    pub count: u64,
}
