//! Circuit breakers of a pool: limits of concurrent work over all workers.
//!
//! A breaker rejects work above its limit at once, so that neither clients nor servers wait for work that cannot be
//! done in time. A breaker closes as soon as there is capacity: no trial, no cool-down. This module reads no clock and
//! no socket; callers pass the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::config::CircuitBreakerLimits;
use crate::monotonic_time::MonotonicTime;
use crate::shared_gauge::SharedGauge;

/// A streak of rejections ends after this many milliseconds without one.
///
/// Under load a limit is reached and left thousands of times a second. Operators see that as one event.
pub const REFUSAL_PAUSE_MS: u64 = 1_000;

/// The time of rejections: milliseconds of the monotonic clock, from 1 on, because 0 means none.
pub fn breaker_clock_ms(now: MonotonicTime) -> u64 {
    now.0 / 1_000_000 + 1
}

/// What a breaker bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakerResource {
    /// Open connections to the pool's servers, idle ones included.
    Connections,
    /// Requests, or `tcp` connections, that wait for a server below its limit.
    Pending,
    /// Requests, or `tcp` connections, in flight at servers.
    Requests,
    /// Requests with a retry in flight.
    Retries,
}

impl BreakerResource {
    pub const ALL: [BreakerResource; 4] = [
        BreakerResource::Connections,
        BreakerResource::Pending,
        BreakerResource::Requests,
        BreakerResource::Retries,
    ];

    /// The key in the configuration, as in status and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            BreakerResource::Connections => "connections",
            BreakerResource::Pending => "pending",
            BreakerResource::Requests => "requests",
            BreakerResource::Retries => "retries",
        }
    }
}

/// Consecutive rejections: the start of the latest streak, and its last rejection.
#[derive(Debug, Default)]
pub struct RefusalStreak {
    /// Start of the streak (`breaker_clock_ms`); 0: never.
    first: AtomicU64,
    last: AtomicU64,
}

/// Whether a breaker is open, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    /// No rejection for a while; the value is the end of the last streak, or `None` if there was none.
    Closed(Option<u64>),
    /// Requests are being rejected; the value is the time of the first rejection.
    Open(u64),
}

impl RefusalStreak {
    /// Records a rejection. Any thread may call it; of two at the same time either may be the first.
    pub fn record_refusal(&self, now: u64) {
        if let CircuitState::Closed(_) = self.state(now) {
            self.first.store(now, Ordering::Relaxed);
        }
        if self.last.load(Ordering::Relaxed) < now {
            self.last.store(now, Ordering::Relaxed);
        }
    }

    /// The state now, and since when.
    pub fn state(&self, now: u64) -> CircuitState {
        match (self.first.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed)) {
            (_, 0) => CircuitState::Closed(None),
            (first, last) if now < last.saturating_add(REFUSAL_PAUSE_MS) => {
                CircuitState::Open(first)
            }
            (_, last) => CircuitState::Closed(Some(last.saturating_add(REFUSAL_PAUSE_MS))),
        }
    }
}

#[derive(Debug, Default)]
pub struct CircuitBreaker {
    in_use: SharedGauge,
    refusals: RefusalStreak,
}

impl CircuitState {
    /// Whether requests are being rejected.
    pub fn is_open(self) -> bool {
        matches!(self, CircuitState::Open(_))
    }
}

impl CircuitBreaker {
    pub fn in_use(&self) -> u32 {
        self.in_use.get()
    }

    /// Whether the breaker rejects requests, and since when.
    pub fn state(&self, now: u64) -> CircuitState {
        self.refusals.state(now)
    }
}

/// The breakers of a pool over all workers. They outlive every snapshot, as do the requests in flight.
#[derive(Debug, Default)]
pub struct CircuitBreakers {
    each: [CircuitBreaker; BreakerResource::ALL.len()],
}

/// A unit of work in progress; dropping it releases it.
#[derive(Debug)]
pub struct BreakerPermit {
    breakers: Arc<CircuitBreakers>,
    resource: BreakerResource,
}

impl CircuitBreakers {
    pub fn get(&self, bound: BreakerResource) -> &CircuitBreaker {
        &self.each[bound as usize]
    }

    /// Counts one more unit unless `most` are in progress; `None`: unlimited.
    #[inline]
    pub fn try_acquire(
        self: &Arc<Self>,
        bound: BreakerResource,
        most: Option<u32>,
    ) -> Option<BreakerPermit> {
        let most = most.unwrap_or(u32::MAX);
        let room = self.get(bound).in_use.try_increment(most);
        room.then(|| BreakerPermit { breakers: self.clone(), resource: bound })
    }

    /// Records that work was rejected because the limit was reached.
    pub fn record_refusal(&self, bound: BreakerResource, now: u64) {
        self.get(bound).refusals.record_refusal(now);
    }
}

impl Drop for BreakerPermit {
    fn drop(&mut self) {
        self.breakers.get(self.resource).in_use.decrement();
    }
}

impl CircuitBreakerLimits {
    /// The limit; `None`: unlimited.
    #[inline]
    pub fn limit_of(&self, bound: BreakerResource) -> Option<u32> {
        match bound {
            BreakerResource::Connections => self.connections,
            BreakerResource::Pending => self.pending,
            BreakerResource::Requests => self.requests,
            BreakerResource::Retries => self.retries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_refusals_is_one_opening_and_closes_after_calm() {
        let run = RefusalStreak::default();
        let begun = 1_772_283_909_000;
        assert_eq!(run.state(begun), CircuitState::Closed(None));
        for at in [0, 1, 900, 1_899, 2_000] {
            run.record_refusal(begun + at);
            assert_eq!(run.state(begun + at), CircuitState::Open(begun), "{at}");
        }
        assert_eq!(run.state(begun + 2_999), CircuitState::Open(begun));
        for later in [3_000, 90_000] {
            assert_eq!(
                run.state(begun + later),
                CircuitState::Closed(Some(begun + 3_000)),
                "{later}"
            );
        }
        run.record_refusal(begun + 5_000);
        assert_eq!(run.state(begun + 5_001), CircuitState::Open(begun + 5_000));
        // A worker whose clock is slightly behind neither closes the breaker nor starts a new streak.
        run.record_refusal(begun + 4_990);
        assert_eq!(run.state(begun + 5_999), CircuitState::Open(begun + 5_000));
    }

    #[test]
    fn each_counts_apart_and_never_beyond_its_limit() {
        let breakers = Arc::new(CircuitBreakers::default());
        for bound in BreakerResource::ALL {
            let limits = CircuitBreakerLimits {
                connections: Some(3),
                pending: Some(3),
                requests: Some(3),
                retries: Some(3),
            };
            let enter = || breakers.try_acquire(bound, limits.limit_of(bound));
            let mut held: Vec<BreakerPermit> = (0..3).filter_map(|_| enter()).collect();
            assert_eq!((held.len(), breakers.get(bound).in_use()), (3, 3), "{bound:?}");
            assert!(enter().is_none(), "{bound:?}");
            held.pop();
            assert!(enter().is_some(), "{bound:?}");
            assert!(breakers.try_acquire(bound, None).is_some(), "{bound:?}");
        }
        assert!(BreakerResource::ALL.iter().all(|bound| breakers.get(*bound).in_use() == 0));
        assert!(breakers.try_acquire(BreakerResource::Pending, Some(0)).is_none(), "nobody waits");
    }

    #[test]
    fn threads_together_hold_no_more_than_the_limit() {
        let breakers = Arc::new(CircuitBreakers::default());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let held = breakers.try_acquire(BreakerResource::Requests, Some(3));
                        assert!(breakers.get(BreakerResource::Requests).in_use() <= 3);
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(breakers.get(BreakerResource::Requests).in_use(), 0);
    }
}
