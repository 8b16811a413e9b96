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
    /// The method; empty: `GET`.
    pub method: String,
    /// `http://host:port/path?query`, `https://…`, or a path; for a `tcp` service `tcp://host:port`.
    pub url: String,
    /// Fields, `name: value`.
    pub headers: Vec<String>,
    /// The peer of the connection, which is the client unless a trusted proxy names another; absent: one that no network of a rule holds, `192.0.2.1`.
    pub from: Option<IpAddr>,
    /// The service, where the URL does not tell it.
    pub service: Option<String>,
    /// The name in the TLS handshake (SNI); absent: the URL's host, with `https`.
    pub sni: Option<String>,
}

/// Its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RequestExplained {
    /// The active configuration.
    pub generation: u64,
    /// The service.
    pub service: String,
    /// Why this one.
    #[serde(alias = "because")]
    pub reason: String,
    /// The client that a trusted proxy names in a field, and why it is that one; absent: the peer of the connection.
    #[serde(default)]
    pub client: Option<String>,
    /// The path that rules compare.
    pub path: String,
    /// Everything that servers may take the path for, where that is more than one thing and rules look at it.
    #[serde(default)]
    pub readings: Vec<String>,
    /// Rules that do not match, in their order, the first 100.
    #[serde(alias = "passed")]
    pub unmatched_rules: Vec<RuleMismatch>,
    /// Further ones.
    #[serde(alias = "passed-unlisted")]
    pub unmatched_unlisted: u64,
    /// Names of the edits that are made, in order. Those of answers are made only where the answer meets their condition.
    #[serde(default)]
    pub edits: Vec<String>,
    /// The rule that takes it; absent: none, so the service's pool.
    pub rule: Option<MatchingRule>,
    /// What becomes of it where no pool takes it: an answer of the balancer's own, in a sentence.
    #[serde(alias = "ends")]
    pub local_reply: Option<String>,
    /// Pools that may take it, with the percentage that each gets.
    pub pools: Vec<PoolShare>,
    /// The server of this client's sticky session, in a sentence; absent: none.
    #[serde(alias = "kept")]
    pub sticky_server: Option<String>,
    /// The pool's servers.
    pub servers: Vec<ServerCandidate>,
}

/// A rule that does not take it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleMismatch {
    /// Its place, from 1.
    #[serde(alias = "place")]
    pub position: u64,
    /// Its name.
    pub name: String,
    /// What does not hold.
    #[serde(alias = "because")]
    pub reason: String,
}

/// A rule that takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MatchingRule {
    /// Its place, from 1.
    #[serde(alias = "place")]
    pub position: u64,
    /// Its name.
    pub name: String,
    /// Its conditions as text.
    pub when: String,
    /// Its action as text.
    #[serde(alias = "does")]
    pub action: String,
    /// The target that the server gets; absent: as it came.
    pub target: Option<String>,
    /// Where a copy goes.
    pub mirror: Option<String>,
}

/// A pool and its part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolShare {
    /// Its name.
    pub name: String,
    /// Of what the rule takes.
    pub percent: f64,
    /// Its policy.
    pub balance: String,
}

/// A server that may get it, or why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerCandidate {
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub name: String,
    /// Where it is; absent: its name does not resolve.
    pub address: Option<String>,
    /// Its state.
    pub state: ServerState,
    /// Whether it may be chosen now.
    #[serde(alias = "may")]
    pub available: bool,
    /// Why, or why not.
    #[serde(alias = "because")]
    pub reason: String,
}

/// What a rule has counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleReport {
    /// Its place, from 1.
    #[serde(alias = "place")]
    pub position: u64,
    /// Its name.
    pub name: String,
    /// Its conditions as text.
    pub when: String,
    /// Its action as text.
    #[serde(alias = "does")]
    pub action: String,
    /// Requests or connections that it took.
    pub hits: u64,
    /// When it last did; absent: never.
    pub last_unix_ms: Option<u64>,
    /// Of what it took, under way now.
    pub in_flight: u32,
    /// Of what it took, refused because of its rate limit.
    #[serde(alias = "limited")]
    pub rate_limited: u64,
    /// Matches that were skipped because no server of its pool was available.
    #[serde(alias = "passed-over")]
    pub skipped: u64,
    /// Copies sent.
    pub mirrored: u64,
    /// Copies not sent.
    pub mirror_dropped: u64,
    /// Bytes of answers to what it took.
    pub bytes: u64,
    /// Clients that its rate limit remembers.
    #[serde(alias = "limit-held")]
    pub rate_limit_entries: u64,
    /// Clients that its rate limit had to forget too early.
    #[serde(alias = "limit-evicted")]
    pub rate_limit_evictions: u64,
}

/// What a service remembers of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AffinityReport {
    /// Clients that are remembered.
    #[serde(alias = "held")]
    pub entries: u64,
    /// At most so many.
    #[serde(alias = "most")]
    pub max_entries: u64,
    /// Lookups that found the client's server.
    #[serde(alias = "found")]
    pub hits: u64,
    /// How often one was put to a server.
    #[serde(alias = "put")]
    pub assignments: u64,
    /// How often one had to be forgotten before its time.
    pub evicted: u64,
}
