//! Rate limits, shared by all workers: one bucket, or one for each client in a bounded table.
//!
//! A bucket is one number, the time at which it would be full again (the generic cell rate algorithm, ITU-T I.371 annex
//! A), so taking a token is one compare-and-exchange. It reads no clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::config::{RateLimit, RateLimitKey};
use crate::lru_map::LruMap;
use crate::monotonic_time::MonotonicTime;

/// A second in nanoseconds, the unit of monotonic times.
const SECOND: u64 = 1_000_000_000;

/// Parts of a table, each with its own lock, so that workers rarely wait for each other.
const SHARDS: usize = 16;

/// The refill rate and the capacity of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefillRate {
    token_interval: u64,
    /// How far in the future the full time may be, nanoseconds.
    burst: u64,
}

#[derive(Debug)]
pub struct TokenBucket {
    rate: RefillRate,
    full_at: AtomicU64,
}

/// The rate limit of a rule.
#[derive(Debug)]
pub struct RuleRateLimiter {
    rate: RefillRate,
    total: TokenBucket,
    per_client: Option<Box<[Mutex<LruMap<u64>>]>>,
    evicted: AtomicU64,
}

impl RefillRate {
    /// `rate` a second, with bursts of `burst`.
    pub fn new(rate: u32, burst: u32) -> RefillRate {
        let step = (SECOND / u64::from(rate.max(1))).max(1);
        RefillRate { token_interval: step, burst: step.saturating_mul(u64::from(burst.max(1)) - 1) }
    }

    /// When the bucket is full again after this token; `None`: no token is left.
    fn full_after_take(self, full_at: u64, now: MonotonicTime) -> Option<u64> {
        let from = full_at.max(now.0);
        (from - now.0 <= self.burst).then(|| from.saturating_add(self.token_interval))
    }
}

impl TokenBucket {
    pub fn new(speed: RefillRate) -> TokenBucket {
        TokenBucket { rate: speed, full_at: AtomicU64::new(0) }
    }

    /// Takes a token; false: none is left.
    pub fn try_take(&self, now: MonotonicTime) -> bool {
        let order = Ordering::Relaxed;
        self.full_at
            .fetch_update(order, order, |full_at| self.rate.full_after_take(full_at, now))
            .is_ok()
    }
}

impl RuleRateLimiter {
    pub fn new(limit: &RateLimit) -> RuleRateLimiter {
        let speed = RefillRate::new(limit.rate, limit.burst);
        let most = (limit.entries as usize).div_ceil(SHARDS);
        let table = || (0..SHARDS).map(|_| Mutex::new(LruMap::new(most))).collect();
        RuleRateLimiter {
            rate: speed,
            total: TokenBucket::new(speed),
            per_client: (limit.by != RateLimitKey::Rule).then(table),
            evicted: AtomicU64::new(0),
        }
    }

    /// Takes a token of a client; `None`: of all clients together.
    pub fn try_take(&self, key: Option<u64>, now: MonotonicTime) -> bool {
        let (Some(key), Some(each)) = (key, &self.per_client) else {
            return self.total.try_take(now);
        };
        let shard = &each[(key >> 32) as usize % SHARDS];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full_at) = shard.touch(key) {
            let full_again = self.rate.full_after_take(*full_at, now);
            *full_at = full_again.unwrap_or(*full_at);
            return full_again.is_some();
        }
        let gone = shard.insert(key, now.0.saturating_add(self.rate.token_interval));
        // A full bucket equals an absent one, so its eviction is not counted.
        if gone.is_some_and(|full_at| full_at > now.0) {
            self.evicted.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Clients that were evicted before their bucket was full again.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    pub fn client_count(&self) -> u64 {
        let len = |shard: &Mutex<LruMap<u64>>| {
            shard.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
        };
        self.per_client.iter().flatten().map(len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonotonicTime {
        MonotonicTime(millis * 1_000_000)
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let bucket = TokenBucket::new(RefillRate::new(10, 5));
        let burst = (0..20).filter(|_| bucket.try_take(at(1_000))).count();
        assert_eq!(burst, 5);
        assert!(!bucket.try_take(at(1_099)));
        assert!(bucket.try_take(at(1_100)));
        assert!(!bucket.try_take(at(1_100)));
        let later = (0..1_000).filter(|n| bucket.try_take(at(2_000 + n))).count();
        assert_eq!(later, 5 + 9);
    }

    #[test]
    fn clients_are_counted_apart_in_bounded_memory() {
        let limit = RateLimit { rate: 1, burst: 1, by: RateLimitKey::Address(32, 64), entries: 64 };
        let limiter = RuleRateLimiter::new(&limit);
        assert!(limiter.try_take(Some(1), at(0)) && !limiter.try_take(Some(1), at(999)));
        assert!(limiter.try_take(Some(2), at(0)) && limiter.try_take(Some(1), at(1_000)));
        // All keys in one shard, which holds four.
        assert!((10..20).all(|key| limiter.try_take(Some(key), at(1_001))));
        assert_eq!((limiter.client_count(), limiter.evicted()), (4, 7));
        assert!(limiter.try_take(None, at(0)) && !limiter.try_take(None, at(1)));
    }
}
