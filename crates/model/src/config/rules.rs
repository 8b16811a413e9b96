//! `[[service.NAME.rule]]`: conditions, and actions for matching requests or connections; `[[service.NAME.edit]]`:
//! changes of fields under the same conditions.
//!
//! One table serves both planes: keys that only one plane supports are marked, and rejected in the other.

mod build;
mod build_edit;
mod build_rewrite;
mod edit_keys;
mod edit_types;
mod keys;
mod rate_limit;
mod rewrite;
mod types;
mod verify;

pub(super) use build::build_rule;
pub(super) use build_edit::build_edit;
pub(super) use build_rewrite::owned_text;
pub(super) use edit_keys::EDIT;
pub use edit_types::{EditConfig, ResponseCondition};
pub(super) use keys::RULE;
pub use types::{
    ActiveCountScope, AddedField, Condition, FixedAnswer, Mirror, NoServersAction, PoolCondition,
    PrefixRewrite, RateLimit, RateLimitKey, RewriteConfig, RuleActionConfig, RuleConfig,
    WeightedPool,
};
pub(super) use verify::verify_rules;
