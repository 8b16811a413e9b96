//! Bundles of links: which links live, what each carries, and how they differ.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BundleStatus {
    /// Its name, which is its device's too.
    pub name: String,
    /// `hash`, `flowlet`, `round-robin` or `failover`.
    pub policy: String,
    /// `up`, `degraded`: some links are dead, or `down`.
    pub state: String,
    /// Why, in a sentence.
    pub reason: String,
    /// The largest packet of its device, bytes.
    pub mtu: u32,
    /// `flowlet`: silence after which a flow may change links, microseconds.
    pub gap_us: Option<u64>,
    /// By how much the longest link is longer than the shortest, one way, microseconds.
    pub skew_us: u64,
    /// Its links, in the order of the configuration.
    pub links: Vec<LinkStatus>,
    /// What was counted besides the links' packets, by name.
    pub counts: BTreeMap<String, u64>,
    /// Dropped packets, by reason.
    pub dropped: BTreeMap<String, u64>,
}

/// A link of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LinkStatus {
    /// Its interface.
    pub interface: String,
    /// Its next hops.
    pub via: Vec<IpAddr>,
    /// `alive` or `dead`.
    pub state: String,
    /// Why, in a sentence.
    pub reason: String,
    /// The least of the last round trips to its next hop, microseconds.
    pub round_trip_us: Option<u64>,
    /// Of the last questions, the share without an answer, 0–1.
    pub loss: f64,
    /// Its share, bits a second, as written; nothing: all links of the bundle alike.
    #[serde(default)]
    pub capacity: Option<u64>,
    /// How long its packets are held, so that longer links are as far, microseconds.
    #[serde(alias = "held-us")]
    pub added_delay_us: u64,
    /// Packets given to it.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
}
