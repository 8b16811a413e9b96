//! `[auth.NAME]`: who may come in, and how that is proven.

mod build;
mod diff;
mod key_set_url;
mod keys;
mod logged_secrets;
mod plan;
mod resolve;
mod types;
mod verify;
mod verify_key_url;
mod verify_question;

pub(super) use build::{build_auth, build_rule_auth, find_credential_fields};
pub use diff::AuthKey;
pub use key_set_url::{KeySetUrl, KeySetUrlError};
pub(super) use keys::{AUTH, OBJECTS, OF_RULE, OF_SERVICE};
pub(super) use plan::ServiceAuthPlan;
pub(super) use resolve::fill_auth_defaults;
pub use types::{AuthConfig, AuthFailureAction, AuthKind, ClaimField, RuleAuth};
pub(super) use verify::verify_auth;
