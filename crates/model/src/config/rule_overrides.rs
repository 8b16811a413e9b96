//! Settings of a rule that replace those of its service and pool: `timeout`, `retries`, `retry`, `buffer` and `body-bytes`.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_rule_overrides;
pub(super) use keys::{BUFFER, RETRIES, RETRY, TIMEOUT};
pub use types::{RuleOverrides, RuleRetry, RuleTimeouts};
pub(super) use verify::verify_rule_overrides;
