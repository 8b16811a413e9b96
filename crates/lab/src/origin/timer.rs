//! The timers of an origin's connections: delayed responses and idle connections. Plain data.

use model::monotonic_time::MonotonicTime;

/// When a connection must be looked at again; the earliest sorts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OriginTimer {
    pub due: MonotonicTime,
    pub slot: usize,
    /// The serial number of the connection that the timer belongs to.
    pub serial: u32,
}
