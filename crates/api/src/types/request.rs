//! Which service, rule, pool and server would take a request: what `steelyard explain request` shows.
//!
//! Answered from what is active; nothing is counted by asking, and no server is chosen: choosing draws lots.

use std::net::IpAddr;

use model::snapshot::ServerState;
use serde::{Deserialize, Serialize};

/// Body of `POST /v1/explain/request`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RequestAsked {
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
    pub because: String,
    /// The client that a trusted proxy names in a field, and why it is that one; absent: the peer of the connection.
    #[serde(default)]
    pub client: Option<String>,
    /// The path that rules compare.
    pub path: String,
    /// Everything that servers may take the path for, where that is more than one thing and rules look at it.
    #[serde(default)]
    pub readings: Vec<String>,
    /// Rules that do not match, in their order, the first 100.
    pub passed: Vec<RulePassed>,
    /// Further ones.
    pub passed_unlisted: u64,
    /// Names of the edits that are made, in order. Those of answers are made only where the answer meets their condition.
    #[serde(default)]
    pub edits: Vec<String>,
    /// The rule that takes it; absent: none, so the service's pool.
    pub rule: Option<RuleTaken>,
    /// What becomes of it where no pool takes it: an answer of the balancer's own, in a sentence.
    pub ends: Option<String>,
    /// Pools that may take it, with the percentage that each gets.
    pub pools: Vec<PoolShare>,
    /// The server of this client's sticky session, in a sentence; absent: none.
    pub kept: Option<String>,
    /// The pool's servers.
    pub servers: Vec<Candidate>,
}

/// A rule that does not take it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RulePassed {
    /// Its place, from 1.
    pub place: u64,
    /// Its name.
    pub name: String,
    /// What does not hold.
    pub because: String,
}

/// A rule that takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleTaken {
    /// Its place, from 1.
    pub place: u64,
    /// Its name.
    pub name: String,
    /// Its conditions as text.
    pub when: String,
    /// Its action as text.
    pub does: String,
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
pub struct Candidate {
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub name: String,
    /// Where it is; absent: its name does not resolve.
    pub address: Option<String>,
    /// Its state.
    pub state: ServerState,
    /// Whether it may be chosen now.
    pub may: bool,
    /// Why, or why not.
    pub because: String,
}

/// What a rule has counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleReport {
    /// Its place, from 1.
    pub place: u64,
    /// Its name.
    pub name: String,
    /// Its conditions as text.
    pub when: String,
    /// Its action as text.
    pub does: String,
    /// Requests or connections that it took.
    pub hits: u64,
    /// When it last did; absent: never.
    pub last_unix_ms: Option<u64>,
    /// Of what it took, under way now.
    pub in_flight: u32,
    /// Of what it took, refused because of its rate limit.
    pub limited: u64,
    /// Matches that were skipped because no server of its pool was available.
    pub passed_over: u64,
    /// Copies sent.
    pub mirrored: u64,
    /// Copies not sent.
    pub mirror_dropped: u64,
    /// Bytes of answers to what it took.
    pub bytes: u64,
    /// Clients that its rate limit remembers.
    pub limit_held: u64,
    /// Clients that its rate limit had to forget too early.
    pub limit_evicted: u64,
}

/// What a service remembers of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AffinityReport {
    /// Clients that are remembered.
    pub held: u64,
    /// At most so many.
    pub most: u64,
    /// Lookups that found the client's server.
    pub found: u64,
    /// How often one was put to a server.
    pub put: u64,
    /// How often one had to be forgotten before its time.
    pub evicted: u64,
}
