//! `[[service.NAME.rule]]`: conditions and what is done with what fits them.
//!
//! One table for both planes: keys that only one of them can carry are marked, and refused in the other.

mod build;
mod build_rewrite;
mod keys;
mod rate_limit;
mod rewrite;
mod types;
mod verify;

pub(super) use build::build_rule;
pub(super) use build_rewrite::owned_text;
pub(super) use keys::RULE;
pub use types::{
    ActiveCountScope, AddedField, Condition, FixedAnswer, Mirror, NoServersAction, PoolCondition,
    PrefixRewrite, RateLimit, RateLimitKey, RewriteConfig, RuleActionConfig, RuleConfig,
};
pub(super) use verify::verify_rules;
