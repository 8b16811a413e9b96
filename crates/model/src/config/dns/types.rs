//! The checked configuration of the DNS server: its own settings, zones, and names with their addresses.

use crate::config::ip_prefix::IpPrefix;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// `[names]`: the name server of this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameServerConfig {
    /// Listen addresses; empty: the name server does not run.
    pub listen: Vec<SocketAddr>,
    pub threads: usize,
    /// The largest response over UDP, bytes.
    pub udp_size: u16,
    /// Rate limit for responses of one kind to one network, per second; `None`: no limit.
    pub rate: Option<u32>,
    /// Above the rate limit, one response in this many is truncated, so that the client retries over TCP; `None`: none.
    pub slip: Option<u32>,
    /// Whether the client subnet option of resolvers is used.
    pub client_subnet: bool,
    /// Whether DNS cookies are sent and verified.
    pub cookies: bool,
    /// Limit for TCP connections.
    pub connections: u32,
    /// Idle timeout of a TCP connection.
    pub idle: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ZoneConfig {
    /// The zone's name, lower case, without the trailing dot.
    pub name: String,
    /// Authoritative name servers, at least one.
    pub nameservers: Vec<String>,
    /// The responsible mail address in the form of a name (RFC 1035 §3.3.13).
    pub contact: String,
    /// TTL of records, whole seconds.
    pub ttl: Duration,
    /// TTL of negative responses, whole seconds.
    pub negative_ttl: Duration,
    /// TXT records at the zone's own name.
    pub text: Vec<String>,
}

/// A name in a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NameConfig {
    /// Lower case, without the trailing dot.
    pub name: String,
    /// The zone that contains the name.
    pub zone: String,
    /// The source of its addresses.
    pub source: NameSource,
    /// How addresses are ordered or selected.
    pub policy: NamePolicy,
    /// Client regions for `nearest`.
    pub near: Vec<ClientRegion>,
    /// Limit for the addresses in one response.
    pub answers: usize,
    /// TTL of records, whole seconds.
    pub ttl: Duration,
    /// The response when no server is up.
    pub fallback: NameFallback,
    /// Labels of SRV records below the name: `_http._tcp`.
    pub srv: Vec<String>,
    /// Protocols in its HTTPS record; empty: no record.
    pub https: Vec<String>,
    /// IPv4 prefix length of a client's network for `sticky`.
    pub mask4: u8,
    /// IPv6 prefix length of a client's network for `sticky`.
    pub mask6: u8,
}

/// The source of a name's addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameSource {
    Pool(String),
    Services(Vec<String>),
    /// Addresses listed in the file.
    Addresses(Vec<NamedAddress>),
    /// Another name (CNAME).
    Cname(String),
}

/// A named entry of listed addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedAddress {
    pub name: String,
    /// One address, or several of one site.
    pub addresses: Vec<IpAddr>,
    /// Weight, 0–256.
    pub weight: u16,
}

/// How addresses are ordered or selected in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamePolicy {
    /// Each address in turn.
    RoundRobin,
    /// In proportion to weights.
    Weighted,
    /// The addresses that the client's network prefers.
    Nearest,
    /// The same addresses for the same client network.
    Sticky,
    /// The first that is up.
    Failover,
}

impl NamePolicy {
    /// The keyword in the file.
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

/// The response when no server is up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameFallback {
    /// All addresses, as if they were up.
    All,
    /// No address.
    None,
    /// These addresses.
    LastResort(Vec<IpAddr>),
}

/// Client networks and what they prefer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientRegion {
    pub client: Vec<IpPrefix>,
    /// Names of the preferred entries.
    pub prefer: Vec<String>,
}

/// The form of a name for comparison: lower case, without the trailing dot.
pub fn normalize_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Whether `name` equals `zone` or is below it; both normalised.
pub fn is_within_zone(name: &str, zone: &str) -> bool {
    name.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}
