//! Bundles of links: which links live, what each carries, and how they differ.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BundleStatus {
    /// Name of the bundle and of its device.
    pub name: String,
    /// `hash`, `flowlet`, `round-robin` or `failover`.
    pub policy: String,
    /// `up`, `degraded` (some links are down) or `down`.
    pub state: String,
    /// Explanation of the state, one sentence.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
    /// MTU of its device, bytes.
    pub mtu: u32,
    /// With `flowlet`: silence after which a flow may change links, microseconds.
    pub gap_us: Option<u64>,
    /// Difference between the longest and the shortest one-way delay, microseconds.
    pub skew_us: u64,
    /// Its links, in the order of the configuration.
    pub links: Vec<LinkStatus>,
    /// Further counters by name.
    pub counts: BTreeMap<String, u64>,
    /// Dropped packets, by reason.
    pub dropped: BTreeMap<String, u64>,
}

/// A link of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkStatus {
    /// Interface of the link.
    pub interface: String,
    /// Next hops.
    pub via: Vec<IpAddr>,
    /// `alive` or `dead`.
    pub state: String,
    /// Explanation of the state, one sentence.
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub reason: String,
    /// Smallest of the last round trips to its next hop, microseconds.
    pub round_trip_us: Option<u64>,
    /// Share of the last health checks without an answer, 0 to 1.
    pub loss: f64,
    /// Its configured share, bits per second; absent: all links of the bundle are equal.
    #[serde(default)]
    pub capacity: Option<u64>,
    /// Delay added to its packets so that all links take equally long, microseconds.
    #[serde(alias = "held-us")]
    pub added_delay_us: u64,
    /// Packets sent over it.
    pub packets: u64,
    /// Bytes of its frames.
    pub bytes: u64,
}
