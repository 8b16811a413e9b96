//! Uplinks: which lead anywhere, and what each has of the connections.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// All uplinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinksStatus {
    /// Priority of the first routing rule; all have the origin 115.
    #[serde(alias = "rule")]
    pub rule_priority: u32,
    /// Uplinks by name, one entry for each address family.
    pub uplinks: Vec<UplinkStatus>,
    /// Rules, routes and programs that could not be set, one sentence each.
    #[serde(alias = "troubles")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub problems: Vec<String>,
}

/// An uplink in one family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinkStatus {
    /// Name of the uplink.
    pub name: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// Name of the interface.
    pub interface: String,
    /// Address of the gateway.
    pub gateway: IpAddr,
    /// Source address of its packets.
    pub source: Option<IpAddr>,
    /// `up` or `down`.
    pub state: String,
    /// Explanation of the state, one sentence.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
    /// Configured weight.
    pub weight: u16,
    /// Configured priority: new connections use the lowest one that is up.
    pub priority: u8,
    /// Its share of new connections, 0 to 1.
    pub share: f64,
    /// Smallest of the last round trips to a target, microseconds.
    pub round_trip_us: Option<u64>,
    /// Share of the last health checks of its best target without an answer, 0 to 1.
    pub loss: f64,
    /// Number of its routing table.
    pub table: u32,
    /// Packet mark of the uplink.
    pub mark: u32,
    /// Connections of this machine that use it, both families.
    #[serde(alias = "own")]
    pub originated: u64,
    /// Forwarded connections that use it, both families.
    pub forwarded: u64,
    /// Connections that moved here from an uplink that was down.
    pub moved: u64,
}
