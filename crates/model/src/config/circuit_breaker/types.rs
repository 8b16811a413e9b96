//! The checked configuration of a pool's circuit breaker.

use serde::Serialize;

/// Limits of a pool over all workers, beyond which requests are rejected; `None`: no limit, the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CircuitBreakerLimits {
    /// Open connections to its servers, idle ones included.
    pub connections: Option<u32>,
    /// Requests that wait for a server below its connection limit.
    pub pending: Option<u32>,
    /// Requests in flight at servers.
    pub requests: Option<u32>,
    /// Requests with a retry in flight.
    pub retries: Option<u32>,
}
