//! The checked configuration of rules: conditions and actions.
//!
//! Plain data: `model::rules` compiles it.

use crate::config::auth::RuleAuth;
use crate::config::daily_window::DailyWindow;
use crate::config::ip_prefix::IpPrefix;
use crate::config::matching::{
    FieldPattern, HostPart, HostPattern, NameValuePattern, NumberRange, PathPattern,
};
use crate::config::pattern::Pattern;
use crate::config::rule_overrides::RuleOverrides;
use crate::config::status_ranges::StatusRanges;
use serde::Serialize;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleConfig {
    /// The name, if the rule has one.
    pub name: Option<String>,
    /// The condition.
    pub when: Condition,
    pub action: RuleActionConfig,
    /// Who may come in.
    pub auth: RuleAuth,
    /// Mirroring of requests; `None`: none.
    pub mirror: Option<Mirror>,
    /// Changes of the request and its response.
    pub rewrite: Option<RewriteConfig>,
    /// The rate limit; `None`: none.
    pub limit: Option<RateLimit>,
    /// Settings in place of those of the service and the pool; `None`: none.
    pub overrides: Option<Arc<RuleOverrides>>,
    /// The priority class in the queue of a pool; `None`: that of the request or the service.
    pub priority: Option<u8>,
    /// Action when no server of the rule's pool may get work.
    pub without_servers: NoServersAction,
}

/// A condition. A list in a basic condition matches if one of its elements does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// All of these match; empty: always.
    All(Vec<Condition>),
    /// At least one of these matches.
    Any(Vec<Condition>),
    /// This does not match.
    Not(Box<Condition>),
    /// The requested host.
    Host(Vec<HostPattern>),
    /// Labels of the host.
    HostPart(Vec<HostPart>),
    /// The host, by expressions.
    HostRegex(Vec<Pattern>),
    /// The path.
    Path(Vec<PathPattern>),
    /// The path, by regular expressions.
    PathRegex(Vec<Pattern>),
    Method(Vec<String>),
    /// A header field.
    Header(Vec<NameValuePattern>),
    /// An element of a field that is a list.
    HeaderList(Vec<NameValuePattern>),
    /// A field, by expressions.
    HeaderRegex(Vec<FieldPattern>),
    /// A cookie.
    Cookie(Vec<NameValuePattern>),
    /// A query parameter.
    Query(Vec<NameValuePattern>),
    Client(Vec<IpPrefix>),
    /// The client's port, inclusive range.
    ClientPort(u16, u16),
    /// The server name (SNI) of a TLS client.
    Sni(Vec<HostPattern>),
    /// The type of service byte of the client's first packet.
    Tos(u8),
    /// Local time: a daily window, and days (bit 0: Monday) on which the window starts.
    Time(Option<DailyWindow>, u8),
    /// A rate of at most this many a second.
    Rate(u32),
    /// Requests or connections in progress.
    Active(NumberRange, ActiveCountScope),
    /// Connections that the service accepted in the last whole second.
    Arrivals(NumberRange),
    /// The bandwidth of this rule's responses is below this, bits a second.
    Bandwidth(u64),
    /// The bandwidth of the service's responses is below this, bits a second.
    SharedBandwidth(u64),
    /// The state of a pool.
    Servers(PoolCondition),
}

impl Condition {
    /// Whether it or a part of it is of a kind.
    pub fn contains(&self, kind: &dyn Fn(&Condition) -> bool) -> bool {
        match self {
            Condition::All(all) | Condition::Any(all) => all.iter().any(|one| one.contains(kind)),
            Condition::Not(not) => not.contains(kind),
            condition => kind(condition),
        }
    }
}

/// The scope of requests in progress that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActiveCountScope {
    /// Those that the rule itself has forwarded.
    Rule,
    /// Those of the servers of its pool.
    Pool,
    /// All of the service.
    Service,
}

/// A condition on the state of a pool; `None`: any value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolCondition {
    /// The pool; `None`: the rule's own.
    pub of: Option<String>,
    /// Servers that are up and get work.
    pub up: Option<NumberRange>,
    /// Requests in progress per such server, on average.
    pub busy: Option<NumberRange>,
    /// Load of these servers in percent, on average.
    pub load: Option<NumberRange>,
    /// Load of each of these servers in percent.
    pub each_load: Option<NumberRange>,
}

/// The action for matching requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleActionConfig {
    /// Use a pool; `None`: the service's.
    Pool(Option<String>),
    /// Use one of several pools, by weight.
    Split(Vec<WeightedPool>),
    /// Redirect the client.
    Redirect {
        /// The target, a template.
        to: String,
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// Further fields, `name: value`.
        headers: Vec<String>,
    },
    /// Send a fixed response.
    Answer(FixedAnswer),
    /// Reject the request.
    Deny,
}

/// A pool of a split, and its weight: its part of the sum of weights gets the requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "(String, u32)")]
pub struct WeightedPool {
    pub pool: String,
    pub weight: u32,
}

impl From<WeightedPool> for (String, u32) {
    fn from(part: WeightedPool) -> (String, u32) {
        (part.pool, part.weight)
    }
}

/// A fixed response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FixedAnswer {
    /// Status, 200–599.
    pub status: u16,
    pub content_type: String,
    pub body: String,
    /// Further header fields, `name: value`.
    pub headers: Vec<String>,
}

/// Mirroring: copies of requests to another pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Mirror {
    pub pool: String,
    /// Share of requests that are copied, percent, 1–100.
    pub percent: u8,
    /// Limit for copies in progress per worker.
    pub at_once: u32,
}

/// Changes of a request and its response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RewriteConfig {
    /// The new path, a template.
    pub path: Option<String>,
    /// Removed from the start of the path.
    pub strip: Option<String>,
    /// Added before the path.
    pub prefix: Option<String>,
    /// The Host for the server.
    pub host: Option<String>,
    /// Request fields that replace existing ones of the same name.
    pub set: Vec<String>,
    /// Added request fields.
    pub add: Vec<String>,
    /// Names of removed request fields.
    pub remove: Vec<String>,
    /// Response fields that replace existing ones of the same name.
    pub answer_set: Vec<String>,
    /// Names of removed response fields.
    pub answer_remove: Vec<String>,
    /// Fields that are added to answers.
    pub response_add: Vec<AddedField>,
    /// Beginnings of Location and Refresh.
    pub location: Vec<PrefixRewrite>,
    /// Domains of cookies.
    pub cookie_domain: Vec<PrefixRewrite>,
    /// Beginnings of cookies' paths.
    pub cookie_path: Vec<PrefixRewrite>,
}

/// A field that is added to answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AddedField {
    /// `name: value`, a template.
    pub field: String,
    /// Statuses of answers that get it.
    pub statuses: StatusRanges,
    /// The balancer's own answers get it too.
    pub own: bool,
}

/// What is put in the place of something.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PrefixRewrite {
    pub from: String,
    pub to: String,
}

/// The rate limit of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RateLimit {
    /// Requests a second.
    pub rate: u32,
    /// Largest burst after a pause.
    pub burst: u32,
    /// The key for separate counts.
    pub by: RateLimitKey,
    /// Limit for remembered keys.
    pub entries: u32,
}

/// The key by which a rate limit counts separately.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimitKey {
    /// No key: one count for the rule.
    Rule,
    /// The network of the client's address: prefix lengths of IPv4 and IPv6.
    Address(u8, u8),
    /// The value of this header field.
    Header(String),
}

/// Action when no server of a rule's pool may get work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoServersAction {
    /// As the pool's `all-down` specifies.
    Pool,
    /// Evaluate the next rule.
    Next,
    /// Respond with 503.
    Answer,
}

impl RuleConfig {
    /// Pools that the rule may use, including for mirroring; `None`: the service's.
    pub fn pools(&self) -> Vec<Option<&str>> {
        let mut pools = match &self.action {
            RuleActionConfig::Pool(name) => vec![name.as_deref()],
            RuleActionConfig::Split(parts) => {
                parts.iter().map(|part| Some(part.pool.as_str())).collect()
            }
            RuleActionConfig::Redirect { .. }
            | RuleActionConfig::Answer(_)
            | RuleActionConfig::Deny => Vec::new(),
        };
        pools.extend(self.mirror.as_ref().map(|mirror| Some(mirror.pool.as_str())));
        pools
    }
}
