//! What a rule counts and holds while it lives: it outlives changes that leave the rule as it is.
//!
//! Each worker counts in a slot of its own; what all must see at once is shared. It decides nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use super::limit::{Bucket, Limiter, Speed};
use crate::config::{Condition, Rule};
use crate::live::{RuleCounters, Shared};
use crate::moment::Moment;

/// What one rule counts.
#[derive(Debug)]
pub struct RuleLive {
    /// One slot a worker.
    pub slots: Box<[RuleSlot]>,
    /// Requests or connections that it sent on and that are under way.
    pub in_flight: Shared,
    /// Bytes of its answers in the last second.
    pub bytes: LastSecond,
    /// What its `rate` lets through.
    pub rate: Option<Bucket>,
    /// What its `limit` lets through.
    pub limiter: Option<Limiter>,
}

/// One worker's slot of a rule.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct RuleSlot {
    /// Counters.
    pub counters: RuleCounters,
    last_unix_ms: AtomicU64,
}

/// What all rules of a service look at.
#[derive(Debug, Default)]
pub struct Gauges {
    /// Connections accepted in the last second.
    pub arrivals: LastSecond,
    /// Bytes of answers in the last second.
    pub bytes: LastSecond,
}

/// What a total gained in the last whole second, worked out by whoever asks first in the next one. A second in which
/// nobody asked is shared out over those that passed.
#[derive(Debug, Default)]
pub struct LastSecond {
    second: AtomicU64,
    total: AtomicU64,
    gained: AtomicU64,
}

impl RuleLive {
    /// Of a new rule.
    pub fn new(rule: &Rule, workers: usize) -> RuleLive {
        RuleLive {
            slots: (0..workers).map(|_| RuleSlot::default()).collect(),
            in_flight: Shared::default(),
            bytes: LastSecond::default(),
            rate: rate(&rule.when).map(|rate| Bucket::new(Speed::new(rate, rate))),
            limiter: rule.limit.as_ref().map(Limiter::new),
        }
    }

    /// When it was last the one, milliseconds since 1970; `None`: never.
    pub fn last_unix_ms(&self) -> Option<u64> {
        let last = self.slots.iter().map(|slot| slot.last_unix_ms.load(Ordering::Relaxed)).max();
        last.filter(|last| *last > 0)
    }

    /// A counter over all workers.
    pub fn sum(&self, of: fn(&RuleCounters) -> &crate::live::Count) -> u64 {
        self.slots.iter().map(|slot| of(&slot.counters).get()).sum()
    }
}

impl RuleSlot {
    /// It was the one.
    pub fn hit(&self, unix_ms: u64) {
        self.counters.hits.add(1);
        self.last_unix_ms.store(unix_ms, Ordering::Relaxed);
    }
}

impl LastSecond {
    /// What was gained; `total` is asked once a second.
    pub fn read(&self, now: Moment, total: impl FnOnce() -> u64) -> u64 {
        let order = Ordering::Relaxed;
        let (second, known) = (now.0 / 1_000_000_000, self.second.load(order));
        if second > known && self.second.compare_exchange(known, second, order, order).is_ok() {
            let total = total();
            let gained = total.saturating_sub(self.total.swap(total, order));
            self.gained.store(gained / (second - known), order);
        }
        self.gained.load(order)
    }
}

/// The number of a `rate`, which stands alone.
fn rate(condition: &Condition) -> Option<u32> {
    match condition {
        Condition::All(all) => all.iter().find_map(rate),
        Condition::Rate(rate) => Some(*rate),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_what_was_gained_in_it() {
        let at = |tenths: u64| Moment(tenths * 100_000_000);
        let gauge = LastSecond::default();
        assert_eq!(gauge.read(at(10), || 100), 100);
        assert_eq!(gauge.read(at(19), || 900), 100);
        assert_eq!(gauge.read(at(20), || 900), 800);
        assert_eq!(gauge.read(at(45), || 1_000), 50);
    }
}
