//! The question which rule takes something, the state that conditions may look at, and the answer. It decides nothing.

use std::net::SocketAddr;

use crate::config::ActiveCountScope;
use crate::request_head::ParsedHead;

/// What is known when a rule is wanted.
#[derive(Clone, Copy, Debug)]
pub struct RuleContext<'a> {
    pub client: SocketAddr,
    /// The name that a TLS client asked for, lower case.
    pub sni: Option<&'a str>,
    /// The type of service byte of the client's first packet, where it is known.
    pub tos: Option<u8>,
    /// The request; `None` for a connection whose bytes are not looked at.
    pub head: Option<&'a ParsedHead<'a>>,
    /// Now, seconds since 1970 of local time.
    pub unix_seconds: i64,
}

/// The state that rules may look at. Rules are named by their position, pools by that in `Table::pools`.
pub trait RuleState {
    /// What is under way.
    fn active_count(&self, rule: usize, pool: usize, counted: ActiveCountScope) -> u64;
    /// Connections that the service accepted in the last whole second.
    fn arrivals_per_second(&self) -> u64;
    /// Bits of the rule's answers in the last whole second.
    fn rule_bits(&self, rule: usize) -> u64;
    /// Bits of all answers in the last whole second.
    fn service_bits(&self) -> u64;
    fn pool_load(&self, pool: usize) -> PoolLoad;
    /// Whether some server of a pool may take work, other than because all are down.
    fn has_server(&self, pool: usize) -> bool;
    /// Takes one of what the rule's `rate` lets through; false: there is none left.
    fn take_rate_token(&self, rule: usize) -> bool;
    /// A rule fitted and was passed over for want of a server.
    fn record_passed_over(&self, rule: usize);
}

/// The state of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolLoad {
    /// Servers that are up and take work.
    pub up: u64,
    /// Under way at each of them, on average.
    pub in_flight_per_server: u64,
    /// Load in percent of those that tell: lowest, average, highest.
    pub load: Option<(u64, u64, u64)>,
}

/// Which rule it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleMatch {
    /// None: the service's pool.
    DefaultPool,
    Rule(usize),
    /// This one, whose pool has no server, and which wants 503 then.
    NoServer(usize),
    /// None: the path can be read in several ways, and this rule fits only some of them; `None`: in more ways than are
    /// looked at.
    AmbiguousPath(Option<usize>),
    /// None: the method, a field, a cookie or a parameter can be read in several ways, and this rule fits only some of
    /// them.
    AmbiguousRequest(usize),
}
