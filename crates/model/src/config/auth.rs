//! `[auth.NAME]`: who may come in, and how that is proven.

mod build;
mod diff;
mod keys;
mod plan;
mod types;
mod verify;

pub(super) use build::{build_auth, build_rule_auth, find_credential_field};
pub use diff::AuthKey;
pub(super) use keys::{AUTH, OBJECTS, OF_RULE, OF_SERVICE};
pub(super) use plan::ServiceAuthPlan;
pub use types::{AuthConfig, AuthKind, ClaimField, RuleAuth};
pub(super) use verify::verify_auth;
