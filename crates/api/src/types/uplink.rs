//! Uplinks: which lead anywhere, and what each has of the connections.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// All uplinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinksStatus {
    /// The priority of the first of our routing rules; they have the origin 115.
    #[serde(alias = "rule")]
    pub rule_priority: u32,
    /// One for each family of each uplink, by name.
    pub uplinks: Vec<UplinkStatus>,
    /// What does not stand of rules, routes and programs, in sentences.
    #[serde(alias = "troubles")]
    pub problems: Vec<String>,
}

/// An uplink in one family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinkStatus {
    /// Its name.
    pub name: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// Its interface.
    pub interface: String,
    /// Its gateway.
    pub gateway: IpAddr,
    /// What leaves by it has this address.
    pub source: Option<IpAddr>,
    /// `up` or `down`.
    pub state: String,
    /// Why, in a sentence.
    pub reason: String,
    /// As configured.
    pub weight: u16,
    /// As configured: the lowest that is up has all new connections.
    pub priority: u8,
    /// Its share of new connections now, 0–1.
    pub share: f64,
    /// The least of the last round trips to a target, microseconds.
    pub round_trip_us: Option<u64>,
    /// Of the last questions to its best target, the share without an answer, 0–1.
    pub loss: f64,
    /// Its routing table.
    pub table: u32,
    /// The mark of its packets.
    pub mark: u32,
    /// Connections that this machine began by it, of both families.
    #[serde(alias = "own")]
    pub originated: u64,
    /// Connections that were forwarded by it, of both families.
    pub forwarded: u64,
    /// Of those, connections that came from an uplink that was down.
    pub moved: u64,
}
