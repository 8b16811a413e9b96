//! The checked configuration of link bundles: several links to one far end, used as one.

use crate::config::ip_prefix::IpPrefix;
use serde::Serialize;
use std::net::IpAddr;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkBundle {
    /// The name of the bundle and of its device.
    pub name: String,
    /// The policy that selects the link of a packet.
    pub policy: LinkPolicy,
    /// At least two links; with `failover` the first one that is up gets all packets.
    pub links: Vec<BundleLink>,
    pub addresses: Vec<IpAddr>,
    /// Networks that are routed over the bundle.
    pub routes: Vec<IpPrefix>,
    /// `flowlet`: silence after which a flow may change links; `None`: derived from the measured delays.
    pub gap: Option<Duration>,
    /// `round-robin`: packets on shorter links are delayed, so that all links have equal delay.
    pub equalise: bool,
    /// `round-robin`: packets of one stream that may use a link together; 1: each packet is scheduled separately.
    pub burst: u32,
    /// Health check of the links; `None`: only the carrier counts.
    pub probe: Option<LinkProbe>,
}

/// The policy that selects the link of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkPolicy {
    /// Each packet uses the next link.
    RoundRobin,
    /// A hash of addresses and ports selects the link, so a flow stays on its link.
    Hash,
    /// A flow may change links only after a pause.
    Flowlet,
    /// The first link that is up.
    Failover,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BundleLink {
    /// The interface; `None`: the one that reaches the next hop.
    pub interface: Option<String>,
    /// Next hops: at least one, and at most one of each family.
    pub via: Vec<IpAddr>,
    /// Capacity in bits a second, from which the link's share follows. `None` for all links of the bundle: equal
    /// shares.
    pub capacity: Option<u64>,
    /// One-way delay to the far end; `None`: half the smallest measured round trip.
    pub delay: Option<Duration>,
}

/// Health check of links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkProbe {
    /// Interval between checks; default 100 ms.
    pub every: Duration,
    /// Time limit for a response; default 300 ms.
    pub timeout: Duration,
    /// Consecutive successes until a link is up; default 2.
    pub rise: u8,
    /// Consecutive failures until a link is down; default 3.
    pub fall: u8,
}

impl LinkPolicy {
    pub const fn name(self) -> &'static str {
        match self {
            LinkPolicy::RoundRobin => "round-robin",
            LinkPolicy::Hash => "hash",
            LinkPolicy::Flowlet => "flowlet",
            LinkPolicy::Failover => "failover",
        }
    }
}
