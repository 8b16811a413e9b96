//! Counts of the plane's open connections and exchanges.

use std::net::{IpAddr, SocketAddr};

use model::monotonic_time::MonotonicTime;

/// Open connections over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenCounts {
    pub connections: u32,
    /// Running exchanges and `tcp` connections.
    pub exchanges: u32,
    pub tunnels: u32,
    /// Client connections without an exchange.
    pub idle: u32,
    /// Bytes buffered for peers that do not read.
    pub held_bytes: u64,
    /// Bytes in kernel pipes (splice).
    pub piped_bytes: u64,
    /// The current time on the workers' clock.
    pub now: MonotonicTime,
}

/// Source ports towards one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortUse {
    /// The source address; `None`: the kernel chooses it.
    pub source: Option<IpAddr>,
    pub destination: SocketAddr,
    /// Ports of open connections, and ports in TIME_WAIT.
    pub in_use: u32,
    /// Ports in TIME_WAIT: their connections are closed, but the kernel does not assign them yet.
    pub resting: u32,
    /// Free ports of the range.
    pub left: u32,
    /// Attempts that found no free port.
    pub exhausted: u64,
}
