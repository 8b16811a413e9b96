//! The input of a rule match, the state that conditions may read, and the result. It decides nothing.

use std::net::SocketAddr;

use crate::config::ActiveCountScope;
use crate::request_head::ParsedHead;

/// The input of a rule match.
#[derive(Clone, Copy, Debug)]
pub struct RuleContext<'a> {
    pub client: SocketAddr,
    /// The server name that a TLS client requested, lower case.
    pub sni: Option<&'a str>,
    /// The type of service byte of the client's first packet, if known.
    pub tos: Option<u8>,
    /// The request; `None`: a connection whose bytes are not parsed.
    pub head: Option<&'a ParsedHead<'a>>,
    /// Local time, seconds since 1970.
    pub unix_seconds: i64,
}

/// The state that rules may read. Rules are named by their position, pools by their position in `RuleTable::pools`.
pub trait RuleState {
    /// The exchanges in progress.
    fn active_count(&self, rule: usize, pool: usize, counted: ActiveCountScope) -> u64;
    /// Connections that the service accepted in the last whole second.
    fn arrivals_per_second(&self) -> u64;
    /// Bits of the rule's responses in the last whole second.
    fn rule_bits(&self, rule: usize) -> u64;
    /// Bits of all responses in the last whole second.
    fn service_bits(&self) -> u64;
    fn pool_load(&self, pool: usize) -> PoolLoad;
    /// Whether some server of a pool may get work, other than because all are down.
    fn has_server(&self, pool: usize) -> bool;
    /// Takes a token of the rule's `rate`; false: none is left.
    fn take_rate_token(&self, rule: usize) -> bool;
    /// Counts that a rule matched and was skipped because its pool had no server.
    fn record_passed_over(&self, rule: usize);
}

/// The state of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolLoad {
    /// Servers that are up and get work.
    pub up: u64,
    /// Exchanges in flight at each of them, on average.
    pub in_flight_per_server: u64,
    /// Load of servers that report it.
    pub load: Option<ReportedLoads>,
}

/// The loads that servers of a pool report, percent of their capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedLoads {
    pub lowest: u64,
    pub average: u64,
    pub highest: u64,
}

/// The result of a rule match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleMatch {
    /// No rule: the service's pool.
    DefaultPool,
    Rule(usize),
    /// This rule, whose pool has no server, and which is configured to answer 503 then.
    NoServer(usize),
    /// No rule: the path has several readings, and this rule matches only some of them; `None`: there are more readings
    /// than are examined.
    AmbiguousPath(Option<usize>),
    /// No rule: the method, a field, a cookie or a parameter has several readings, and this rule matches only some of
    /// them.
    AmbiguousRequest(usize),
}
