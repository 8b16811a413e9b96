//! Rules of proxied services, compiled: which rule matches a request or a connection, and why others do not.
//!
//! A `RuleTable` is compiled once for a service's configuration and never changes; the counters of rules are stored
//! beside it (`RuleStats`) and survive changes. A match is a lookup by host and path (`RuleIndex`), then the candidates
//! in their order: the first that matches counts. It reads no clock and opens nothing; callers pass the time and the
//! state of pools.

pub mod condition;
pub mod context;
pub mod describe;
pub mod edits;
pub mod index;
pub mod path_admission;
pub mod rate_limit;
pub mod response_rewrite;
pub mod rewrite;
pub mod service_rules;
pub mod stats;
pub mod table;
pub mod value;

mod action;
mod added_lines;
mod cookie_rewrite;
mod exchange_settings;
mod glob;
mod list_field;
mod location_rewrite;
mod path_captures;
mod path_reading_policy;
mod pool_numbers;
mod reading_set;

pub use action::{MirrorTarget, RuleAction, SplitPool};
pub use context::{PoolLoad, ReportedLoads, RuleContext, RuleMatch, RuleState};
pub use exchange_settings::ExchangeSettings;
pub use path_admission::{PathAdmission, admit_path, write_with_target};
pub use service_rules::{PreviousRules, ServiceRules};
pub use stats::RuleStats;
pub use table::{CompiledRule, RuleTable};
