//! Names: where they are answered, how each stands, what queries came to, and which answer a client gets.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// The name server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamesStatus {
    /// Addresses that answer queries.
    pub listen: Vec<NameListener>,
    /// Zones of this server.
    pub zones: Vec<String>,
    /// Names in the zones.
    pub names: Vec<NameStatus>,
}

/// An address where queries are answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameListener {
    /// Address and port, UDP and TCP.
    pub address: SocketAddr,
    /// Why nothing listens there; absent: it listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "trouble")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub problem: Option<String>,
}

/// A name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameStatus {
    /// The name.
    pub name: String,
    /// The zone of the name.
    pub zone: String,
    /// Policy that chooses the first address of an answer.
    pub policy: String,
    /// Time that resolvers cache an answer, seconds.
    pub ttl_seconds: u32,
    /// Candidates that may be in an answer.
    pub up: u64,
    /// Number of candidates.
    pub candidates: u64,
    /// Whether no candidate is up and the fallback is used.
    #[serde(alias = "fallen")]
    pub fallback: bool,
    /// Answers with addresses since the start.
    #[serde(alias = "answers")]
    pub responses: u64,
    /// How often each candidate was first in an answer.
    #[serde(alias = "given")]
    pub first_choices: BTreeMap<String, u64>,
}

/// Queries over one transport. `received` = the sum of `outcomes` + `unaccounted`, which is what is being answered now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamesReport {
    /// `udp` or `tcp`.
    pub transport: String,
    /// Queries received since the start.
    pub received: u64,
    /// Queries by outcome; only those that happened.
    #[serde(alias = "fates")]
    pub outcomes: BTreeMap<String, u64>,
    /// Queries without an outcome.
    pub unaccounted: u64,
}

/// Query of `GET /v1/explain/name`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameQuery {
    /// The name.
    pub name: String,
    /// The client, or its resolver if that does not send the client's network.
    pub from: IpAddr,
    /// The record type; `A` without it.
    #[serde(default)]
    pub kind: Option<String>,
}

/// Which answer a client gets, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameExplained {
    /// The requested name.
    pub name: String,
    /// The record type.
    pub kind: String,
    /// Address of the client.
    pub from: IpAddr,
    /// Its zone; absent: no zone of this server.
    pub zone: Option<String>,
    /// The name after aliases; absent: there is none.
    pub target: Option<String>,
    /// Bits of the client's address that the answer depends on.
    pub scope_bits: u8,
    /// Steps from the query to the answer, one sentence each.
    pub steps: Vec<String>,
    /// Addresses that may be in the answer.
    pub candidates: Vec<NameCandidate>,
}

/// What a name may be answered with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameCandidate {
    /// The server, service or address.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Current weight.
    pub weight: u16,
    /// Whether it may be in an answer.
    pub up: bool,
    /// Explanation, one sentence.
    #[serde(alias = "why")]
    pub reason: String,
    /// Share of answers to this client that have it first, percent.
    pub share_percent: f64,
}
