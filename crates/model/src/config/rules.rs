//! `[[service.NAME.rule]]`: conditions, and actions for matching requests or connections.
//!
//! One table serves both planes: keys that only one plane supports are marked, and rejected in the other.

mod build;
mod keys;
mod rate_limit;
mod rewrite;
mod types;
mod verify;

pub(super) use build::{build_rule, owned_text};
pub(super) use keys::RULE;
pub use types::{
    ActiveCountScope, Condition, FixedAnswer, Mirror, NoServersAction, PoolCondition, RateLimit,
    RateLimitKey, RewriteConfig, RuleActionConfig, RuleConfig,
};
pub(super) use verify::verify_rules;
