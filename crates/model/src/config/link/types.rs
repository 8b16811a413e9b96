//! The checked configuration of bundles: several links to one far end, used as one.

use crate::config::ip_prefix::IpPrefix;
use serde::Serialize;
use std::net::IpAddr;
use std::time::Duration;

/// A bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkBundle {
    /// Its name, which is its device's too.
    pub name: String,
    /// Which link a packet takes.
    pub policy: LinkPolicy,
    /// Its links, two at least; with `failover` the first that lives has everything.
    pub links: Vec<BundleLink>,
    /// Addresses of the device.
    pub addresses: Vec<IpAddr>,
    /// What is sent over the bundle.
    pub routes: Vec<IpPrefix>,
    /// `flowlet`: silence after which a flow may change links; `None`: from the delays that are measured.
    pub gap: Option<Duration>,
    /// `round-robin`: packets of shorter links are held, so that all take equally long.
    pub equalise: bool,
    /// `round-robin`: packets of one stream that may take a link together; 1: each is chosen for.
    pub burst: u32,
    /// How links are asked whether they live; `None`: only the carrier counts.
    pub probe: Option<LinkProbe>,
}

/// Which link a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkPolicy {
    /// One after the other, packet by packet.
    RoundRobin,
    /// By addresses and ports: a flow stays.
    Hash,
    /// A flow changes links only after silence.
    Flowlet,
    /// The first that lives.
    Failover,
}

/// A link of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BundleLink {
    /// Where it begins; `None`: at the interface by which its next hop is reached.
    pub interface: Option<String>,
    /// Where it ends: the next hop, one of each family at most, one at least.
    pub via: Vec<IpAddr>,
    /// Bits a second, for its share; `None`, of all links of the bundle or of none: equal shares.
    pub capacity: Option<u64>,
    /// How long a packet travels to the far end; `None`: half the least round trip that is measured.
    pub delay: Option<Duration>,
}

/// How links are asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkProbe {
    /// Between two questions; default 100 ms.
    pub every: Duration,
    /// An answer that takes longer is none; default 300 ms.
    pub timeout: Duration,
    /// Answers in a row after which a dead link lives; default 2.
    pub rise: u8,
    /// Questions in a row without an answer after which a link is dead; default 3.
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
