//! Counters and rate limits of a rule. They outlive configuration changes that leave the rule as it is.
//!
//! Each worker counts in its own slot; values that all workers must see at once are shared. It decides nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use super::rate_limit::{RefillRate, RuleRateLimiter, TokenBucket};
use crate::config::{Condition, RuleConfig};
use crate::monotonic_time::MonotonicTime;
use crate::stats::{RuleCounters, SharedGauge};

#[derive(Debug)]
pub struct RuleStats {
    /// One slot a worker.
    pub workers: Box<[RuleWorkerStats]>,
    /// Requests or connections in progress that the rule forwarded.
    pub in_flight: SharedGauge,
    /// Bytes of its responses in the last second.
    pub bytes: LastSecondDelta,
    /// The bucket of a `rate` condition.
    pub rate: Option<TokenBucket>,
    /// The rate limiter of the rule's `limit`.
    pub limiter: Option<RuleRateLimiter>,
}

/// One worker's slot of a rule.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct RuleWorkerStats {
    pub counters: RuleCounters,
    last_unix_ms: AtomicU64,
}

/// Gauges that all rules of a service read.
#[derive(Debug, Default)]
pub struct RuleGauges {
    /// Connections accepted in the last second.
    pub arrivals: LastSecondDelta,
    /// Bytes of responses in the last second.
    pub bytes: LastSecondDelta,
}

/// The growth of a total in the last whole second, computed by the first reader in the next one. A second without a
/// reader is averaged over the seconds that passed.
#[derive(Debug, Default)]
pub struct LastSecondDelta {
    second: AtomicU64,
    total: AtomicU64,
    delta: AtomicU64,
}

impl RuleStats {
    pub fn new(rule: &RuleConfig, workers: usize) -> RuleStats {
        RuleStats {
            workers: (0..workers).map(|_| RuleWorkerStats::default()).collect(),
            in_flight: SharedGauge::default(),
            bytes: LastSecondDelta::default(),
            rate: rate_threshold(&rule.when)
                .map(|rate| TokenBucket::new(RefillRate::new(rate, rate))),
            limiter: rule.limit.as_ref().map(RuleRateLimiter::new),
        }
    }

    /// When it last matched, milliseconds since 1970; `None`: never.
    pub fn last_unix_ms(&self) -> Option<u64> {
        let last = self.workers.iter().map(|slot| slot.last_unix_ms.load(Ordering::Relaxed)).max();
        last.filter(|last| *last > 0)
    }

    /// A counter over all workers.
    pub fn sum(&self, of: fn(&RuleCounters) -> &crate::stats::Count) -> u64 {
        self.workers.iter().map(|slot| of(&slot.counters).get()).sum()
    }
}

impl RuleWorkerStats {
    /// Counts a match of the rule.
    pub fn record_hit(&self, unix_ms: u64) {
        self.counters.hits.add(1);
        self.last_unix_ms.store(unix_ms, Ordering::Relaxed);
    }
}

impl LastSecondDelta {
    /// The growth in the last second; `total` is called once a second.
    pub fn read_delta(&self, now: MonotonicTime, total: impl FnOnce() -> u64) -> u64 {
        let order = Ordering::Relaxed;
        let second = now.0 / 1_000_000_000;
        let known = self.second.load(order);
        if second > known && self.second.compare_exchange(known, second, order, order).is_ok() {
            let total = total();
            let gained = total.saturating_sub(self.total.swap(total, order));
            self.delta.store(gained / (second - known), order);
        }
        self.delta.load(order)
    }
}

/// The threshold of a `rate` condition, which always stands alone.
fn rate_threshold(condition: &Condition) -> Option<u32> {
    match condition {
        Condition::All(all) => all.iter().find_map(rate_threshold),
        Condition::Rate(rate) => Some(*rate),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_what_was_gained_in_it() {
        let at = |tenths: u64| MonotonicTime(tenths * 100_000_000);
        let gauge = LastSecondDelta::default();
        assert_eq!(gauge.read_delta(at(10), || 100), 100);
        assert_eq!(gauge.read_delta(at(19), || 900), 100);
        assert_eq!(gauge.read_delta(at(20), || 900), 800);
        assert_eq!(gauge.read_delta(at(45), || 1_000), 50);
    }
}
