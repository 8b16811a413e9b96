//! Verifies the circuit breaker: limits that can never be reached.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

/// Warns of limits that have no effect or are probably mistaken.
pub fn verify_circuit_breaker(
    breaker: &ConfigSection,
    pool: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let mut warn = |key: &str, message: String| {
        sink.warning(breaker.span_of(key), &format!("{path}.{key}"), FindingDetails::new(message));
    };
    if breaker.count::<u64>("pending").is_some()
        && breaker.is_written("pending")
        && !has_connection_cap(pool)
    {
        warn("pending", format!("`circuit-breaker.pending` has no effect: {NOBODY_WAITS}"));
    }
    let retries = breaker.count::<u64>("retries").is_some() && breaker.is_written("retries");
    if retries && pool.count::<u64>("retries") == Some(0) {
        let message =
            "`circuit-breaker.retries` has no effect: `retries = 0` allows no further attempt";
        warn("retries", message.to_owned());
    }
    let servers = pool.list("servers").len() as u64;
    if let Some(most) = breaker.count::<u64>("connections").filter(|most| *most < servers) {
        let message = format!("{most} connections are fewer than {servers} servers");
        warn("connections", message);
    }
}

pub const NOBODY_WAITS: &str =
    "nobody waits for a server, as no server has a cap (`connections` of the pool or a server)";

/// Whether a server has a connection limit.
pub fn has_connection_cap(pool: &ConfigSection) -> bool {
    let capped = |section: &ConfigSection| section.count::<u64>("connections").is_some();
    capped(pool) || pool.list("servers").iter().any(capped)
}
