//! Which service, rule, pool and server would take a request: what `steelyard explain request` shows.
//!
//! Answered from what is active; nothing is counted by asking, and no server is chosen: choosing draws lots.

use std::net::IpAddr;

use model::snapshot::ServerState;
use serde::{Deserialize, Serialize};

/// Body of `POST /v1/explain/request`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RequestDescription {
    /// Method; empty: `GET`.
    pub method: String,
    /// `http://host:port/path?query`, `https://…`, or a path; for a `tcp` service `tcp://host:port`.
    pub url: String,
    /// Header fields, `name: value`.
    pub headers: Vec<String>,
    /// Peer address of the connection, which is the client unless a trusted proxy names another; absent: `192.0.2.1`,
    /// or another address outside the networks of the rules.
    pub from: Option<IpAddr>,
    /// The service, if the URL does not identify it.
    pub service: Option<String>,
    /// The name in the TLS handshake (SNI); absent: the URL's host, with `https`.
    pub sni: Option<String>,
}

/// Its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RequestExplained {
    /// The active generation.
    pub generation: u64,
    /// The service.
    pub service: String,
    /// Why this pool gets it, one sentence.
    #[serde(alias = "because")]
    pub reason: String,
    /// The client that a trusted proxy names, and why; absent: the peer of the connection.
    #[serde(default)]
    pub client: Option<String>,
    /// The path that rules compare.
    pub path: String,
    /// Interpretations of the path by servers, if there is more than one and rules depend on it.
    #[serde(default)]
    pub readings: Vec<String>,
    /// Rules before it that do not match, at most 100.
    #[serde(alias = "passed")]
    pub unmatched_rules: Vec<RuleMismatch>,
    /// Number of further rules.
    #[serde(alias = "passed-unlisted")]
    pub unmatched_unlisted: u64,
    /// Edits that apply, in order. Those of responses apply if the response meets their condition.
    #[serde(default)]
    pub edits: Vec<String>,
    /// The matching rule; absent: none, so the service's pool gets the request.
    pub rule: Option<MatchingRule>,
    /// The balancer's own response, if no pool gets the request.
    #[serde(alias = "ends")]
    pub local_reply: Option<String>,
    /// Pools that may get it, with their shares in percent.
    pub pools: Vec<PoolShare>,
    /// Server of the client's sticky session, one sentence; absent: none.
    #[serde(alias = "kept")]
    pub sticky_server: Option<String>,
    /// Servers of the pool.
    pub servers: Vec<ServerCandidate>,
}

/// A rule that does not take it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleMismatch {
    /// Position of the rule, from 1.
    #[serde(alias = "place")]
    pub position: u64,
    /// Name of the rule.
    pub name: String,
    /// The condition that does not match.
    #[serde(alias = "because")]
    pub reason: String,
}

/// A rule that takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MatchingRule {
    /// Position of the rule, from 1.
    #[serde(alias = "place")]
    pub position: u64,
    /// Name of the rule.
    pub name: String,
    /// The conditions as text.
    pub when: String,
    /// The action as text.
    #[serde(alias = "does")]
    pub action: String,
    /// Rewritten request target; absent: unchanged.
    pub target: Option<String>,
    /// Pool of the mirrored request.
    pub mirror: Option<String>,
}

/// A pool and its part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolShare {
    /// Name of the pool.
    pub name: String,
    /// Its share of the rule's requests, percent.
    pub percent: f64,
    /// Balancing policy.
    pub balance: String,
}

/// A server that may get it, or why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerCandidate {
    /// Name of the pool.
    pub pool: String,
    /// Name of the server.
    pub name: String,
    /// Address; absent: the name does not resolve.
    pub address: Option<String>,
    /// State of the server.
    pub state: ServerState,
    /// Whether it can be chosen now.
    #[serde(alias = "may")]
    pub available: bool,
    /// Explanation, one sentence.
    #[serde(alias = "because")]
    pub reason: String,
}

/// What a rule has counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleReport {
    /// Position of the rule, from 1.
    #[serde(alias = "place")]
    pub position: u64,
    /// Name of the rule.
    pub name: String,
    /// The conditions as text.
    pub when: String,
    /// The action as text.
    #[serde(alias = "does")]
    pub action: String,
    /// Requests or connections that it matched.
    pub hits: u64,
    /// Time of its last match; absent: never.
    pub last_unix_ms: Option<u64>,
    /// Its requests that are active now.
    pub in_flight: u32,
    /// Its requests that the rate limit denied.
    #[serde(alias = "limited")]
    pub rate_limited: u64,
    /// Matches that were skipped because its pool had no available server.
    #[serde(alias = "passed-over")]
    pub skipped: u64,
    /// Mirrored requests that were sent.
    pub mirrored: u64,
    /// Mirrored requests that were not sent.
    pub mirror_dropped: u64,
    /// Bytes of responses to its requests.
    pub bytes: u64,
    /// Clients in the table of its rate limit.
    #[serde(alias = "limit-held")]
    pub rate_limit_entries: u64,
    /// Clients removed from that table before they expired.
    #[serde(alias = "limit-evicted")]
    pub rate_limit_evictions: u64,
}

/// What a service remembers of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AffinityReport {
    /// Clients that are remembered now.
    #[serde(alias = "held")]
    pub entries: u64,
    /// Limit of entries.
    #[serde(alias = "most")]
    pub max_entries: u64,
    /// Lookups that found the client's server.
    #[serde(alias = "found")]
    pub hits: u64,
    /// How often a client was assigned to a server.
    #[serde(alias = "put")]
    pub assignments: u64,
    /// Entries that were removed before they expired, because the table was full.
    pub evicted: u64,
}
