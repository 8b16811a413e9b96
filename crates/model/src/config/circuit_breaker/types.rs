//! The checked configuration of a pool's circuit breaker.

use serde::Serialize;

/// What may be under way at a time in a pool, over all workers, before more is refused; `None`: any number, the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CircuitBreakerLimits {
    /// Open connections to its servers, idle ones included.
    pub connections: Option<u32>,
    /// Requests that wait for a server below its cap.
    pub pending: Option<u32>,
    /// Requests that servers have.
    pub requests: Option<u32>,
    /// Requests whose further attempt is under way.
    pub retries: Option<u32>,
}
