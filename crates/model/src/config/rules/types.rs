//! Rules of proxied services in their checked form: what must hold, and what is done then.
//!
//! It compares nothing: `model::rules` compiles it.

use crate::config::daily_window::DailyWindow;
use crate::config::ip_prefix::IpPrefix;
use crate::config::matching::{
    FieldPattern, HostPart, HostPattern, NameValuePattern, NumberRange, PathPattern,
};
use crate::config::pattern::Pattern;
use crate::config::status_ranges::StatusRanges;
use serde::Serialize;

/// A rule of a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleConfig {
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// What must hold.
    pub when: Condition,
    /// What is done.
    pub action: RuleActionConfig,
    /// Where copies go.
    pub mirror: Option<Mirror>,
    /// What is changed.
    pub rewrite: Option<RewriteConfig>,
    /// How much it lets through.
    pub limit: Option<RateLimit>,
    /// Its class in the queue of a pool; `None`: that of the request or the service.
    pub priority: Option<u8>,
    /// What is done when no server of its pool may take work.
    pub without_servers: NoServersAction,
}

/// What must hold. A list within an atom holds when one of its elements does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Each of these; none: always.
    All(Vec<Condition>),
    /// One of these.
    Any(Vec<Condition>),
    /// Not this.
    Not(Box<Condition>),
    /// The host that is asked for.
    Host(Vec<HostPattern>),
    /// Labels of the host.
    HostPart(Vec<HostPart>),
    /// The host, by expressions.
    HostRegex(Vec<Pattern>),
    /// The path.
    Path(Vec<PathPattern>),
    /// The path, by expressions.
    PathRegex(Vec<Pattern>),
    /// The method.
    Method(Vec<String>),
    /// A field of the head.
    Header(Vec<NameValuePattern>),
    /// An element of a field that is a list.
    HeaderList(Vec<NameValuePattern>),
    /// A field, by expressions.
    HeaderRegex(Vec<FieldPattern>),
    /// A cookie.
    Cookie(Vec<NameValuePattern>),
    /// A parameter of the query.
    Query(Vec<NameValuePattern>),
    /// The client's address.
    Client(Vec<IpPrefix>),
    /// The client's port, both ends included.
    ClientPort(u16, u16),
    /// The name that a TLS client asks for.
    Sni(Vec<HostPattern>),
    /// The type of service byte of the client's first packet.
    Tos(u8),
    /// Hours and days (bit 0: Monday) of local time; the day is the one on which the hours begin.
    Time(Option<DailyWindow>, u8),
    /// At most so many a second.
    Rate(u32),
    /// Under way.
    Active(NumberRange, ActiveCountScope),
    /// Connections accepted by the service in the last whole second.
    Arrivals(NumberRange),
    /// Bits a second of this rule's answers, below.
    Bandwidth(u64),
    /// Bits a second of the service's answers, below.
    SharedBandwidth(u64),
    /// The state of a pool.
    Servers(PoolCondition),
}

/// Whose work under way is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActiveCountScope {
    /// What the rule itself sent on.
    Rule,
    /// What the servers of its pool have.
    Pool,
    /// All of the service.
    Service,
}

/// A state of a pool; `None`: it does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolCondition {
    /// The pool; `None`: the rule's own.
    pub of: Option<String>,
    /// Servers that are up and take work.
    pub up: Option<NumberRange>,
    /// Under way at each of them, on average.
    pub busy: Option<NumberRange>,
    /// Their load in percent, on average.
    pub load: Option<NumberRange>,
    /// The load of each.
    pub each_load: Option<NumberRange>,
}

/// What is done with what fits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleActionConfig {
    /// A pool takes it; `None`: the service's.
    Pool(Option<String>),
    /// One of several does, by weight.
    Split(Vec<(String, u32)>),
    /// The client is sent elsewhere.
    Redirect {
        /// Where to, a template.
        to: String,
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// Further fields, `name: value`.
        headers: Vec<String>,
    },
    /// A fixed answer.
    Answer(FixedAnswer),
    /// Refused.
    Deny,
}

/// A fixed answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FixedAnswer {
    /// 200–599.
    pub status: u16,
    /// Its Content-Type.
    pub content_type: String,
    /// Its body.
    pub body: String,
    /// Further fields, `name: value`.
    pub headers: Vec<String>,
}

/// Where copies go.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Mirror {
    /// The pool.
    pub pool: String,
    /// Of how many requests, 1–100.
    pub percent: u8,
    /// Copies under way per worker.
    pub at_once: u32,
}

/// What is changed on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RewriteConfig {
    /// The new path, a template.
    pub path: Option<String>,
    /// Taken off the path's beginning.
    pub strip: Option<String>,
    /// Put before the path.
    pub prefix: Option<String>,
    /// The Host for the server.
    pub host: Option<String>,
    /// Fields of the request that replace others of their name.
    pub set: Vec<String>,
    /// Fields that are added to the request.
    pub add: Vec<String>,
    /// Names of fields that are taken out of the request.
    pub remove: Vec<String>,
    /// Fields of the answer that replace others of their name.
    pub answer_set: Vec<String>,
    /// Names of fields that are taken out of the answer.
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

/// How much a rule lets through.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RateLimit {
    /// So many a second.
    pub rate: u32,
    /// So many at once after a pause.
    pub burst: u32,
    /// What is counted apart.
    pub by: RateLimitKey,
    /// How many are remembered at a time.
    pub entries: u32,
}

/// What a rate limit counts apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimitKey {
    /// Nothing: all together.
    Rule,
    /// Networks of client addresses: bits that count of IPv4 and of IPv6.
    Address(u8, u8),
    /// Values of this field.
    Header(String),
}

/// What is done when no server of a rule's pool may take work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoServersAction {
    /// As the pool's `all-down` says.
    Pool,
    /// The next rule is asked.
    Next,
    /// 503 at once.
    Answer,
}

impl RuleConfig {
    /// Pools that it may send work to, a copy included; `None`: the service's.
    pub fn pools(&self) -> Vec<Option<&str>> {
        let mut pools = match &self.action {
            RuleActionConfig::Pool(name) => vec![name.as_deref()],
            RuleActionConfig::Split(parts) => {
                parts.iter().map(|(name, _)| Some(name.as_str())).collect()
            }
            RuleActionConfig::Redirect { .. }
            | RuleActionConfig::Answer(_)
            | RuleActionConfig::Deny => Vec::new(),
        };
        pools.extend(self.mirror.as_ref().map(|mirror| Some(mirror.pool.as_str())));
        pools
    }
}
