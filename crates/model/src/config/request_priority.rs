//! Priorities of requests, of a service and of a rule.

mod build;
mod keys;
mod types;

pub(super) use build::build_request_priority;
pub(super) use keys::{OF_RULE, PRIORITY};
pub use types::RequestPriority;
