//! The checked configuration of uplinks: several gateways, used in parallel.

use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Settings common to all uplinks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinksConfig {
    /// Interfaces that receive packets to forward.
    pub inside: Vec<String>,
    /// Which source addresses are translated.
    pub translate: SourceNatMode,
    /// The lowest bit of the packet marks.
    pub mark_bit: u8,
    /// The common routing table; those of single uplinks follow.
    pub table: u32,
    /// Priority of the first routing rule.
    pub rule: u32,
}

/// Which source addresses are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceNatMode {
    /// None.
    Off,
    /// Those of IPv4 connections.
    Ipv4,
    /// Those of both families.
    Both,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinkConfig {
    pub name: String,
    pub interface: String,
    /// Gateways: at least one, and at most one of each family.
    pub via: Vec<IpAddr>,
    /// Source addresses of outgoing connections, at most one of each family; absent: the interface's own.
    pub source: Vec<IpAddr>,
    /// Share of new connections.
    pub weight: u16,
    /// The lowest priority that is up gets all new connections.
    pub priority: u8,
    /// The health check through the uplink; `None`: only the carrier counts.
    pub probe: Option<UplinkProbe>,
}

/// The health check through an uplink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct UplinkProbe {
    /// Targets checked with ICMP echo.
    pub echo: Vec<IpAddr>,
    /// Targets checked with a TCP connection.
    pub connect: Vec<SocketAddr>,
    /// Number of targets of a family that must respond.
    pub need: u8,
    /// Interval between checks of a target; default 1 s.
    pub every: Duration,
    /// Time limit for a response; default 1 s.
    pub timeout: Duration,
    /// Consecutive successes until a target counts as reachable; default 2.
    pub rise: u8,
    /// Consecutive failures until a target counts as unreachable; default 3.
    pub fall: u8,
}

impl SourceNatMode {
    /// Whether connections of a family are translated.
    pub const fn applies_to_family(self, v6: bool) -> bool {
        match self {
            SourceNatMode::Off => false,
            SourceNatMode::Ipv4 => !v6,
            SourceNatMode::Both => true,
        }
    }
}
