//! Options of the data plane, and the interface to the observer of its events.

use std::net::{IpAddr, SocketAddr};

use model::config::{AccessLogField, AccessLogFormat};
use model::id::{PoolId, ServerId};

/// Options of the data plane, fixed at its start.
#[derive(Clone, Debug)]
pub struct PlaneOptions {
    /// Number of worker threads, at least 1.
    pub workers: usize,
    /// Pins worker i to the i-th core that this process may use.
    pub pin: bool,
    /// Limit of client connections over all services.
    pub connections: u32,
    pub access: AccessLogOptions,
    /// Samples one exchange in this many, in addition to every slow one; `None`: no measurements.
    pub sample: Option<u32>,
    /// Propagates trace context to servers.
    pub traces: bool,
    /// The balancer's name in Via.
    pub node: String,
    /// The offset of local time from UTC in seconds, for a time in seconds since 1970.
    pub utc_offset: fn(i64) -> i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLogOptions {
    /// Logs every exchange, not only those with a cause.
    pub all: bool,
    /// The share of what is neither failed nor slow that is logged, parts per million; `None`: nothing of it.
    pub sample: Option<u32>,
    pub format: AccessLogFormat,
    /// What a line has, in this order; empty: what it has by default.
    pub fields: Vec<AccessLogField>,
    pub enabled: bool,
}

impl AccessLogOptions {
    /// Whether lines have facts that nobody keeps for the default ones.
    pub fn wants_further_facts(&self) -> bool {
        self.enabled && !self.fields.is_empty()
    }
}

/// Receives the workers' observations and log lines. Called on worker threads: must never block.
pub trait PlaneObserver: Send + Sync + 'static {
    /// Reports an observation to the control thread.
    fn observe(&self, seen: PlaneObservation);

    /// Hands over finished log lines; false: they were dropped.
    fn log(&self, lines: Vec<u8>) -> bool;

    /// Called after each turn in which a task ran, so that others may sleep while there are none.
    fn turn_ended(&self) {}
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaneObservation {
    /// A connection to a server failed.
    ConnectFailed { pool: PoolId, server: ServerId, reason: String },
    /// A connection to a server succeeded, for the first time after a failure.
    ConnectSucceeded { pool: PoolId, server: ServerId },
    /// 80 %, 95 % or all of the source ports towards a destination are in use. Sent once for each level.
    SourcePortsLow {
        /// The source address; `None`: the kernel chooses it.
        source: Option<IpAddr>,
        destination: SocketAddr,
        /// Ports in use, over all workers.
        in_use: u32,
        /// Ports left; 0 if an attempt found none.
        left: u32,
    },
    /// A client connection could not be accepted, because no file descriptor was free.
    NoDescriptor { worker: usize },
}
