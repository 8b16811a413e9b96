//! Source ports of connections to servers, as `report` shows them.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Source ports towards one destination from one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PortReport {
    /// Source address; absent: the kernel chooses.
    pub source: Option<IpAddr>,
    /// The server.
    pub destination: SocketAddr,
    /// Ports in use, including those in TIME_WAIT.
    pub in_use: u32,
    /// Ports in TIME_WAIT, counted at most a few seconds ago.
    #[serde(default)]
    #[serde(alias = "resting")]
    pub time_wait: u32,
    /// Free ports.
    #[serde(alias = "left")]
    pub free: u32,
}
