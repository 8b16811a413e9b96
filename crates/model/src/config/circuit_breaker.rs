//! `circuit-breaker` of a pool: limits beyond which requests are rejected.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_circuit_breaker;
pub(super) use keys::BREAKER;
pub use types::CircuitBreakerLimits;
pub(super) use verify::NOBODY_WAITS;
pub(super) use verify::{has_connection_cap, verify_circuit_breaker};
