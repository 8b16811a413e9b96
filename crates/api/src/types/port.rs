//! Source ports of connections to servers, as `report` shows them.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Source ports towards one destination from one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PortReport {
    /// The source address; absent: the kernel chooses.
    pub source: Option<IpAddr>,
    /// The server.
    pub destination: SocketAddr,
    /// Ports that are not free: of connections that are open, and those that rest.
    pub in_use: u32,
    /// Of those in TIME_WAIT, as counted at most a few seconds ago: their connections are closed, and no other may have them yet.
    #[serde(default)]
    #[serde(alias = "resting")]
    pub time_wait: u32,
    /// Ports left.
    #[serde(alias = "left")]
    pub free: u32,
}
