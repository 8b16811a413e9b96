//! Numbers that every worker changes and must see at once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A number that every worker changes, on a cache line of its own, so that other data is not slowed.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct SharedGauge(AtomicU32);

impl SharedGauge {
    /// Adds one and returns the new value.
    #[inline]
    pub fn increment(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    #[inline]
    pub fn decrement(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sets it to zero. Costs one read if it is zero already.
    #[inline]
    pub fn clear(&self) {
        if self.get() != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }

    /// Adds one unless that would exceed `cap`.
    #[inline]
    pub fn try_increment(&self, cap: u32) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                (now < cap).then_some(now + 1)
            })
            .is_ok()
    }

    #[inline]
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes that every worker adds and subtracts, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct SharedByteGauge(AtomicU64);

impl SharedByteGauge {
    /// Adds `bytes` unless that would exceed `most`.
    pub fn try_add(&self, bytes: u64, most: u64) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                now.checked_add(bytes).filter(|sum| *sum <= most)
            })
            .is_ok()
    }

    pub fn subtract(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
