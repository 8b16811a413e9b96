//! Builds the circuit breaker of the checked configuration.

use super::types::CircuitBreakerLimits;
use crate::config::section::ConfigSection;

pub fn build_circuit_breaker(section: &ConfigSection) -> CircuitBreakerLimits {
    CircuitBreakerLimits {
        connections: section.count("connections"),
        pending: section.count("pending"),
        requests: section.count("requests"),
        retries: section.count("retries"),
    }
}
