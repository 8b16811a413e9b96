//! `retry` of a pool: which requests are retried, and the retry budget.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::{attempts_timeout, build_retry};
pub(super) use keys::RETRY;
pub use types::{RetryConditions, RetryConfig};
pub(super) use verify::{verify_resilience, verify_retried_statuses};
