//! The checked configuration of uplinks: several gateways, used side by side.

use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What belongs to all uplinks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinksConfig {
    /// Where packets come in that are forwarded.
    pub inside: Vec<String>,
    /// Whose source address is translated.
    pub translate: SourceNatMode,
    /// The lowest of the marks' bits.
    pub mark_bit: u8,
    /// The routing table of all; those of single uplinks follow.
    pub table: u32,
    /// The first rule's priority.
    pub rule: u32,
}

/// Whose source address is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceNatMode {
    /// Nobody's.
    Off,
    /// Connections of IPv4.
    Ipv4,
    /// All.
    Both,
}

/// An uplink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinkConfig {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub interface: String,
    /// Its gateway, one of each family at most, one at least.
    pub via: Vec<IpAddr>,
    /// What leaves by it has this address, one of each family at most; missing: the interface's own.
    pub source: Vec<IpAddr>,
    /// Its share of new connections.
    pub weight: u16,
    /// Its rank; the lowest that is up has all new connections.
    pub priority: u8,
    /// What is asked through it; `None`: only the carrier counts.
    pub probe: Option<UplinkProbe>,
}

/// What is asked through an uplink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinkProbe {
    /// By ICMP echo.
    pub echo: Vec<IpAddr>,
    /// By a connection of TCP.
    pub connect: Vec<SocketAddr>,
    /// So many targets of a family must answer.
    pub need: u8,
    /// Between two questions to a target; default 1 s.
    pub every: Duration,
    /// An answer that takes longer is none; default 1 s.
    pub timeout: Duration,
    /// Answers in a row after which a target is reached again; default 2.
    pub rise: u8,
    /// Questions in a row without an answer after which it is not; default 3.
    pub fall: u8,
}

impl SourceNatMode {
    /// Whether connections of a family are.
    pub const fn applies_to_family(self, v6: bool) -> bool {
        match self {
            SourceNatMode::Off => false,
            SourceNatMode::Ipv4 => !v6,
            SourceNatMode::Both => true,
        }
    }
}
