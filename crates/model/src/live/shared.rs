//! Numbers that every worker changes and must see at once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A number that every worker changes, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Shared(AtomicU32);

impl Shared {
    /// Adds one and returns the new value.
    #[inline]
    pub fn up(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Takes one away.
    #[inline]
    pub fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Nothing again. Costs a look where that is so already.
    #[inline]
    pub fn clear(&self) {
        if self.get() != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }

    /// Adds one unless that would exceed `cap`.
    #[inline]
    pub fn up_within(&self, cap: u32) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                (now < cap).then_some(now + 1)
            })
            .is_ok()
    }

    /// Reads.
    #[inline]
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes that every worker adds to and takes from, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct SharedBytes(AtomicU64);

impl SharedBytes {
    /// Adds `bytes` unless that would exceed `most`.
    pub fn up_within(&self, bytes: u64, most: u64) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                now.checked_add(bytes).filter(|sum| *sum <= most)
            })
            .is_ok()
    }

    /// Takes them away.
    pub fn down(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Reads.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
