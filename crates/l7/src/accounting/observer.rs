//! Options that the plane gets at its start, and the observer that receives its observations.

use std::net::{IpAddr, SocketAddr};

use model::config::AccessLogFormat;
use model::id::{PoolId, ServerId};

/// Options of the plane, set at its start.
#[derive(Clone, Debug)]
pub struct PlaneOptions {
    /// Worker threads, at least 1.
    pub workers: usize,
    /// Pin worker i to the i-th core that this process may use.
    pub pin: bool,
    /// Client connections over all services.
    pub connections: u32,
    pub access: AccessLogOptions,
    /// One exchange in this many is measured whatever its duration, and every slow one; `None`: none is.
    pub sample: Option<u32>,
    /// Requests are part of traces, which is propagated to servers.
    pub traces: bool,
    /// Our name in Via.
    pub node: String,
    /// The difference of local time to UTC at a moment (seconds since 1970), in seconds.
    pub utc_offset: fn(i64) -> i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessLogOptions {
    /// Every exchange, not only those with a cause.
    pub all: bool,
    /// The form of a line.
    pub format: AccessLogFormat,
    pub enabled: bool,
}

/// Receives the observations of workers. Called on worker threads: must never block.
pub trait PlaneObserver: Send + Sync + 'static {
    /// Reports an observation to the control side.
    fn observe(&self, seen: PlaneObservation);

    /// Finished log lines; false: they were dropped.
    fn log(&self, lines: Vec<u8>) -> bool;
}

/// An observation for the control side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaneObservation {
    /// A connection to a server could not be made.
    ConnectFailed { pool: PoolId, server: ServerId, reason: String },
    /// A connection was made, for the first time after a failure.
    ConnectSucceeded { pool: PoolId, server: ServerId },
    /// Four fifths of the source ports towards a destination are in use, or 95 %, or all: once for each.
    SourcePortsLow {
        /// From where; `None`: the kernel's choice.
        source: Option<IpAddr>,
        destination: SocketAddr,
        /// Ports in use, over all workers.
        in_use: u32,
        /// Ports left; 0 when an attempt found none.
        left: u32,
    },
    /// No file descriptor was left for a client.
    NoDescriptor { worker: usize },
}
