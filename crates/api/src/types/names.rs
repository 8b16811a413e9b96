//! Names: where they are answered, how each stands, what queries came to, and which answer a client gets.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// The name server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamesStatus {
    /// Where queries are answered.
    pub listen: Vec<NameListener>,
    /// For which zones.
    pub zones: Vec<String>,
    /// The names in them.
    pub names: Vec<NameStatus>,
}

/// An address where queries are answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameListener {
    /// Address and port, UDP and TCP.
    pub address: SocketAddr,
    /// Why it is not had; absent: it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "trouble")]
    pub problem: Option<String>,
}

/// A name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameStatus {
    /// The name.
    pub name: String,
    /// The zone that it lies in.
    pub zone: String,
    /// Which comes first in an answer.
    pub policy: String,
    /// How long resolvers keep an answer.
    pub ttl_seconds: u32,
    /// How many of its candidates may be given.
    pub up: u64,
    /// How many there are.
    pub candidates: u64,
    /// None is up: the fallback counts.
    #[serde(alias = "fallen")]
    pub fallback: bool,
    /// Answers with addresses since the start.
    #[serde(alias = "answers")]
    pub responses: u64,
    /// How often each candidate came first in one.
    #[serde(alias = "given")]
    pub first_choices: BTreeMap<String, u64>,
}

/// Queries over one transport. `received` = the sum of `outcomes` + `unaccounted`, which is what is being answered now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamesReport {
    /// `udp` or `tcp`.
    pub transport: String,
    /// Since the start.
    pub received: u64,
    /// What they came to; only what happened.
    #[serde(alias = "fates")]
    pub outcomes: BTreeMap<String, u64>,
    /// What is missing.
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
    /// The client.
    pub from: IpAddr,
    /// Its zone; absent: none of this server's zones.
    pub zone: Option<String>,
    /// The name whose addresses are given, after aliases; absent: there is none.
    pub target: Option<String>,
    /// Bits of the client's address that the answer depends on.
    pub scope_bits: u8,
    /// Sentences, from the question to the answer.
    pub steps: Vec<String>,
    /// What the name may be answered with.
    pub candidates: Vec<NameCandidate>,
}

/// What a name may be answered with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameCandidate {
    /// The server, the service or the address.
    pub name: String,
    /// Where it is.
    pub addresses: Vec<IpAddr>,
    /// Its weight now.
    pub weight: u16,
    /// Whether it may be given.
    pub up: bool,
    /// Why.
    #[serde(alias = "why")]
    pub reason: String,
    /// Its part of the answers to this client, as the first address.
    pub share_percent: f64,
}
