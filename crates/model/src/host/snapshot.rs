//! A snapshot of a machine's settings, and the load that it should carry. Plain data.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::capacity::quantity::BitRate;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HostSnapshot {
    pub processors: u32,
    /// Settings below /proc/sys by their names with dots; those that could not be read are absent.
    pub settings: BTreeMap<String, String>,
    pub descriptors: DescriptorLimits,
    pub time_wait: u64,
    /// Processors by their frequency governor; empty: no governor here.
    pub governors: BTreeMap<String, u32>,
    pub interfaces: Vec<HostInterface>,
}

/// The limits of file descriptors of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "(u64, u64)")]
pub struct DescriptorLimits {
    pub soft: u64,
    /// The highest value to which a process may raise the soft limit.
    pub hard: u64,
}

impl From<DescriptorLimits> for (u64, u64) {
    fn from(limits: DescriptorLimits) -> (u64, u64) {
        (limits.soft, limits.hard)
    }
}

/// A network interface with a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HostInterface {
    pub name: String,
    pub queues: u32,
    /// Whether some queue's packets are spread in software (RPS).
    pub spread: bool,
    /// Offloads by ethtool's names, and whether they are on; empty: the driver reports none.
    pub offloads: BTreeMap<String, bool>,
}

/// The load that the machine should carry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HostWorkload {
    /// Concurrent connections, each with one to a server.
    pub connections: u64,
    /// New connections a second to one server from one address.
    pub per_second: f64,
    pub link: BitRate,
    /// The longest round trip to clients.
    pub round_trip: Duration,
}

impl HostSnapshot {
    /// A setting's numbers; none if it is absent or holds something else.
    pub fn numbers(&self, name: &str) -> Vec<u64> {
        let words = self.settings.get(name).into_iter().flat_map(|value| value.split_whitespace());
        words.map_while(|word| word.parse().ok()).collect()
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.numbers(name).first().copied()
    }
}
