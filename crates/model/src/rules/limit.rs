//! How many a second, shared by all workers: one bucket, or one for each client in a bounded table.
//!
//! A bucket is one number, the moment at which it would be full again (the generic cell rate algorithm, ITU-T I.371
//! annex A), so taking from it is one exchange of a word. It reads no clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::bounded::Bounded;
use crate::config::{LimitBy, RateLimit};
use crate::moment::Moment;

const SECOND: u64 = 1_000_000_000;

/// Parts of a table that are locked apart.
const SHARDS: usize = 16;

/// How fast it fills, and how much it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Between two, nanoseconds.
    step: u64,
    /// How far ahead the moment may lie, nanoseconds.
    ahead: u64,
}

/// One bucket.
#[derive(Debug)]
pub struct Bucket {
    speed: Speed,
    full_at: AtomicU64,
}

/// What a rule lets through.
#[derive(Debug)]
pub struct Limiter {
    speed: Speed,
    all: Bucket,
    each: Option<Box<[Mutex<Bounded<u64>>]>>,
    evicted: AtomicU64,
}

impl Speed {
    /// `rate` a second, `burst` at once.
    pub fn new(rate: u32, burst: u32) -> Speed {
        let step = (SECOND / u64::from(rate.max(1))).max(1);
        Speed { step, ahead: step.saturating_mul(u64::from(burst.max(1)) - 1) }
    }

    /// The moment at which it is full again, after one was taken; `None`: there is none left.
    fn taken(self, full_at: u64, now: Moment) -> Option<u64> {
        let from = full_at.max(now.0);
        (from - now.0 <= self.ahead).then(|| from.saturating_add(self.step))
    }
}

impl Bucket {
    /// A full one.
    pub fn new(speed: Speed) -> Bucket {
        Bucket { speed, full_at: AtomicU64::new(0) }
    }

    /// Takes one; false: there is none left.
    pub fn take(&self, now: Moment) -> bool {
        let order = Ordering::Relaxed;
        self.full_at.fetch_update(order, order, |full_at| self.speed.taken(full_at, now)).is_ok()
    }
}

impl Limiter {
    /// As configured.
    pub fn new(limit: &RateLimit) -> Limiter {
        let speed = Speed::new(limit.rate, limit.burst);
        let most = (limit.entries as usize).div_ceil(SHARDS);
        let table = || (0..SHARDS).map(|_| Mutex::new(Bounded::new(most))).collect();
        Limiter {
            speed,
            all: Bucket::new(speed),
            each: (limit.by != LimitBy::Rule).then(table),
            evicted: AtomicU64::new(0),
        }
    }

    /// Whether one more of a client is let through; `None`: of all together.
    pub fn lets(&self, key: Option<u64>, now: Moment) -> bool {
        let (Some(key), Some(each)) = (key, &self.each) else { return self.all.take(now) };
        let shard = &each[(key >> 32) as usize % SHARDS];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full_at) = shard.renew(key) {
            let taken = self.speed.taken(*full_at, now);
            *full_at = taken.unwrap_or(*full_at);
            return taken.is_some();
        }
        let gone = shard.put(key, now.0.saturating_add(self.speed.step));
        // One that is full again is as if it had never been there.
        if gone.is_some_and(|full_at| full_at > now.0) {
            self.evicted.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Clients that were forgotten before their bucket was full again.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Clients that are remembered.
    pub fn held(&self) -> u64 {
        let len = |shard: &Mutex<Bounded<u64>>| {
            shard.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
        };
        self.each.iter().flatten().map(len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment(millis * 1_000_000)
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let bucket = Bucket::new(Speed::new(10, 5));
        let burst = (0..20).filter(|_| bucket.take(at(1_000))).count();
        assert_eq!(burst, 5);
        assert!(!bucket.take(at(1_099)));
        assert!(bucket.take(at(1_100)));
        assert!(!bucket.take(at(1_100)));
        let later = (0..1_000).filter(|n| bucket.take(at(2_000 + n))).count();
        assert_eq!(later, 5 + 9);
    }

    #[test]
    fn clients_are_counted_apart_in_bounded_memory() {
        let limit = RateLimit { rate: 1, burst: 1, by: LimitBy::Address(32, 64), entries: 64 };
        let limiter = Limiter::new(&limit);
        assert!(limiter.lets(Some(1), at(0)) && !limiter.lets(Some(1), at(999)));
        assert!(limiter.lets(Some(2), at(0)) && limiter.lets(Some(1), at(1_000)));
        // All of one shard, which holds four.
        assert!((10..20).all(|key| limiter.lets(Some(key), at(1_001))));
        assert_eq!((limiter.held(), limiter.evicted()), (4, 7));
        assert!(limiter.lets(None, at(0)) && !limiter.lets(None, at(1)));
    }
}
