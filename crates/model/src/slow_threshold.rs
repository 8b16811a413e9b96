//! From when on an exchange is slow, before its service's times are known.

/// The threshold of slow exchanges, nanoseconds.
/// Nielsen's limit for an answer that feels immediate is 100 ms.
pub const DEFAULT_SLOW_THRESHOLD: u64 = 100_000_000;
