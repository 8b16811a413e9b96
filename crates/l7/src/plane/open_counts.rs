//! Counts of what a plane has open.

use std::net::{IpAddr, SocketAddr};

use model::monotonic_time::MonotonicTime;

/// Open connections over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenCounts {
    pub connections: u32,
    /// Exchanges and `tcp` connections under way.
    pub exchanges: u32,
    pub tunnels: u32,
    /// Client connections without an exchange.
    pub idle: u32,
    /// Bytes buffered for receivers that do not read.
    pub held_bytes: u64,
    /// Bytes that wait in pipes of the kernel.
    pub piped_bytes: u64,
    /// Now, on the workers' clock.
    pub now: MonotonicTime,
}

/// Source ports towards one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortUse {
    /// From where; `None`: the kernel's choice.
    pub source: Option<IpAddr>,
    pub destination: SocketAddr,
    /// Held by connections that are open, or resting.
    pub in_use: u32,
    /// Of those in TIME_WAIT: their connections are closed, and the kernel gives them to nobody yet.
    pub resting: u32,
    /// Free ports of the range.
    pub left: u32,
    /// Attempts that found no free port.
    pub exhausted: u64,
}
