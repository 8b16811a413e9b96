//! The checked configuration of DNS answers: the server's own settings, zones, and names with what they stand for.

use crate::config::ip_prefix::IpPrefix;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// `[names]`: the name server of this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameServerConfig {
    /// Where it answers; none: it does not run.
    pub listen: Vec<SocketAddr>,
    /// Threads for UDP.
    pub threads: usize,
    /// The largest answer over UDP, bytes.
    pub udp_size: u16,
    /// Answers of one kind a second to one network; `None`: any number.
    pub rate: Option<u32>,
    /// One in so many above the rate is told to use TCP; `None`: none.
    pub slip: Option<u32>,
    /// Client subnets of resolvers are believed.
    pub client_subnet: bool,
    /// Cookies are given and honoured.
    pub cookies: bool,
    /// TCP connections at a time.
    pub connections: u32,
    /// How long one may be silent.
    pub idle: Duration,
}

/// A zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ZoneConfig {
    /// Its name, lower-case, without the last dot.
    pub name: String,
    /// Who answers for it; at least one.
    pub nameservers: Vec<String>,
    /// The responsible mail address in the form of a name (RFC 1035 §3.3.13).
    pub contact: String,
    /// How long an answer is cached, whole seconds.
    pub ttl: Duration,
    /// How long the lack of one is cached, whole seconds.
    pub negative_ttl: Duration,
    /// TXT records of its own name.
    pub text: Vec<String>,
}

/// A name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameConfig {
    /// Lower-case, without the last dot.
    pub name: String,
    /// The zone that it lies in.
    pub zone: String,
    /// What it stands for.
    pub source: NameSource,
    /// Which comes first.
    pub policy: NamePolicy,
    /// For `nearest`.
    pub near: Vec<ClientRegion>,
    /// Addresses in one answer at most.
    pub answers: usize,
    /// How long an answer is cached, whole seconds.
    pub ttl: Duration,
    /// While none is up.
    pub fallback: NameFallback,
    /// Labels of SRV records below it: `_http._tcp`.
    pub srv: Vec<String>,
    /// Protocols of its HTTPS record; none: it has none.
    pub https: Vec<String>,
    /// Bits of an IPv4 client that count for `sticky`.
    pub mask4: u8,
    /// Bits of an IPv6 client.
    pub mask6: u8,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameSource {
    /// The servers of a pool.
    Pool(String),
    /// The addresses of services.
    Services(Vec<String>),
    /// Its own addresses.
    Addresses(Vec<NamedAddress>),
    /// Another name.
    Cname(String),
}

/// Addresses that the file lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedAddress {
    /// Its name.
    pub name: String,
    /// One, or several of one site.
    pub addresses: Vec<IpAddr>,
    /// 0–256.
    pub weight: u16,
}

/// Which comes first in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamePolicy {
    /// Each in turn.
    RoundRobin,
    /// In proportion to weights.
    Weighted,
    /// What the client's network prefers.
    Nearest,
    /// The same for a client's network.
    Sticky,
    /// The first that is up.
    Failover,
}

impl NamePolicy {
    /// As in the file.
    pub const fn name(self) -> &'static str {
        match self {
            NamePolicy::RoundRobin => "round-robin",
            NamePolicy::Weighted => "weighted",
            NamePolicy::Nearest => "nearest",
            NamePolicy::Sticky => "sticky",
            NamePolicy::Failover => "failover",
        }
    }
}

/// What is answered while none is up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameFallback {
    /// All, as if they were up.
    All,
    /// No address.
    None,
    /// These.
    LastResort(Vec<IpAddr>),
}

/// Networks of clients and what they prefer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientRegion {
    /// The networks.
    pub client: Vec<IpPrefix>,
    /// Names of what is preferred.
    pub prefer: Vec<String>,
}

/// A name as it is compared: lower-case, without the last dot.
pub fn normalize_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Whether `name` is `zone` or lies below it; both plain.
pub fn is_within_zone(name: &str, zone: &str) -> bool {
    name.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}
