//! A counter with one writer.
//!
//! Several threads change a `SharedGauge` instead.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread adds to and others read.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Only the owning thread may add: two writers would lose counts.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
