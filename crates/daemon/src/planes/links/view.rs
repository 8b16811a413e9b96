//! The view of bundles, for `status` and metrics. The thread publishes it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct LinksView {
    pub bundles: BTreeMap<String, BundleView>,
    /// Why the kernel carries none of them.
    pub broken: Option<String>,
}

#[derive(Clone, Debug)]
pub struct BundleView {
    /// Its policy, as written.
    pub policy: &'static str,
    pub state: BundleState,
    /// Why, in a sentence.
    pub reason: String,
    /// The largest packet of its device, bytes.
    pub mtu: u32,
    /// `flowlet`: silence after which a flow may change links.
    pub gap: Option<Duration>,
    /// By how much the longest link is longer than the shortest, as measured or written.
    pub skew: Duration,
    /// Its links, in the order of the configuration.
    pub links: Vec<LinkView>,
    /// Further counters of the BPF programs.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Packets dropped, by why.
    pub dropped: BTreeMap<&'static str, u64>,
}

/// The state of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleState {
    Up,
    Degraded,
    /// None does, or the device does not stand.
    Down,
}

impl BundleState {
    /// As written for people.
    pub const fn name(self) -> &'static str {
        match self {
            BundleState::Up => "up",
            BundleState::Degraded => "degraded",
            BundleState::Down => "down",
        }
    }
}

#[derive(Clone, Debug)]
pub struct LinkView {
    pub interface: String,
    pub via: Vec<IpAddr>,
    /// It may have packets.
    pub alive: bool,
    /// Why, in a sentence.
    pub reason: String,
    /// The least of the last round trips.
    pub round_trip: Option<Duration>,
    /// Of the last questions, the share without an answer.
    pub loss: f64,
    /// Its share, bits a second, as written.
    pub capacity: Option<u64>,
    /// How long its packets are held.
    pub delay: Duration,
    /// Packets given to it.
    pub packets: u64,
    pub bytes: u64,
}
