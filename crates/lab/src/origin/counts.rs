//! Counters of an origin, readable while it runs.
//!
//! Only the origin's own thread writes them.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct OriginCounters {
    pub(super) accepted: AtomicU64,
    pub(super) open: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) accept_failed: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OriginCounts {
    pub accepted: u64,
    pub open: u64,
    /// Requests received completely; for an echoing origin, pieces received.
    pub requests: u64,
    /// Connections that could not be accepted.
    pub accept_failed: u64,
}

impl OriginCounters {
    pub fn read(&self) -> OriginCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        OriginCounts {
            accepted: read(&self.accepted),
            open: read(&self.open),
            requests: read(&self.requests),
            accept_failed: read(&self.accept_failed),
        }
    }
}
