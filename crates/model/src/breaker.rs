//! Circuit breakers of a pool: how much may be under way at a time over all workers, and whether one refuses.
//!
//! A breaker refuses at once what exceeds its limit, so that neither clients nor the pool's servers wait for work that
//! cannot be done in time. It counts by itself as soon as there is room again: there is no trial and no cooling down. It
//! reads no clock and knows no socket; who asks says the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::config::BreakerLimits;
use crate::live::Shared;
use crate::moment::Moment;

/// A run of refusals is over when so many milliseconds passed without one.
///
/// Under load a limit is met and left thousands of times a second, which is one thing to people.
pub const CALM: u64 = 1_000;

/// A moment of the workers, who count refusals by it: milliseconds on a clock that nobody sets, from 1 on.
pub fn clock(now: Moment) -> u64 {
    now.0 / 1_000_000 + 1
}

/// What a breaker bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Open connections to the pool's servers, idle ones included.
    Connections,
    /// Requests, or `tcp` connections, that wait for a server below its cap.
    Pending,
    /// Requests, or `tcp` connections, that servers have.
    Requests,
    /// Requests whose further attempt is under way.
    Retries,
}

impl Bound {
    /// All of them.
    pub const ALL: [Bound; 4] =
        [Bound::Connections, Bound::Pending, Bound::Requests, Bound::Retries];

    /// Its key in the configuration, as in status and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Bound::Connections => "connections",
            Bound::Pending => "pending",
            Bound::Requests => "requests",
            Bound::Retries => "retries",
        }
    }
}

/// Refusals that follow each other: when the last run of them began, and the last of it.
#[derive(Debug, Default)]
pub struct Run {
    /// When its first was (`clock`); 0: there was none.
    first: AtomicU64,
    /// Of its last.
    last: AtomicU64,
}

/// Whether refusals go on, and since when that is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// None for a while; when the last run ended, or `None`: there never was one.
    Closed(Option<u64>),
    /// They go on; when the first was.
    Open(u64),
}

impl Run {
    /// One was refused. Any thread may call it; of two at the same moment either may be the first.
    pub fn refused(&self, now: u64) {
        if let State::Closed(_) = self.state(now) {
            self.first.store(now, Ordering::Relaxed);
        }
        if self.last.load(Ordering::Relaxed) < now {
            self.last.store(now, Ordering::Relaxed);
        }
    }

    /// How it is now, and since when.
    pub fn state(&self, now: u64) -> State {
        match (self.first.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed)) {
            (_, 0) => State::Closed(None),
            (first, last) if now < last.saturating_add(CALM) => State::Open(first),
            (_, last) => State::Closed(Some(last.saturating_add(CALM))),
        }
    }
}

/// One breaker.
#[derive(Debug, Default)]
pub struct Breaker {
    now: Shared,
    run: Run,
}

impl State {
    /// Whether refusals go on.
    pub fn is_open(self) -> bool {
        matches!(self, State::Open(_))
    }
}

impl Breaker {
    /// How much is under way.
    pub fn in_use(&self) -> u32 {
        self.now.get()
    }

    /// Whether it refuses, and since when.
    pub fn state(&self, now: u64) -> State {
        self.run.state(now)
    }
}

/// The breakers of a pool over all workers; outlive every snapshot, and so does what is under way.
#[derive(Debug, Default)]
pub struct Breakers {
    each: [Breaker; Bound::ALL.len()],
}

/// Something under way, which counts until this is dropped.
#[derive(Debug)]
pub struct Permit {
    of: Arc<Breakers>,
    bound: Bound,
}

impl Breakers {
    /// One breaker.
    pub fn of(&self, bound: Bound) -> &Breaker {
        &self.each[bound as usize]
    }

    /// Counts one more unless there are `most` already; `None`: any number.
    #[inline]
    pub fn enter(self: &Arc<Self>, bound: Bound, most: Option<u32>) -> Option<Permit> {
        let most = most.unwrap_or(u32::MAX);
        let room = self.of(bound).now.up_within(most);
        room.then(|| Permit { of: self.clone(), bound })
    }

    /// One found no room and is refused.
    pub fn refused(&self, bound: Bound, now: u64) {
        self.of(bound).run.refused(now);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.of.of(self.bound).now.down();
    }
}

impl BreakerLimits {
    /// The limit; `None`: none.
    #[inline]
    pub fn of(&self, bound: Bound) -> Option<u32> {
        match bound {
            Bound::Connections => self.connections,
            Bound::Pending => self.pending,
            Bound::Requests => self.requests,
            Bound::Retries => self.retries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_refusals_is_one_opening_and_closes_after_calm() {
        let run = Run::default();
        let begun = 1_772_283_909_000;
        assert_eq!(run.state(begun), State::Closed(None));
        for at in [0, 1, 900, 1_899, 2_000] {
            run.refused(begun + at);
            assert_eq!(run.state(begun + at), State::Open(begun), "{at}");
        }
        assert_eq!(run.state(begun + 2_999), State::Open(begun));
        for later in [3_000, 90_000] {
            assert_eq!(run.state(begun + later), State::Closed(Some(begun + 3_000)), "{later}");
        }
        run.refused(begun + 5_000);
        assert_eq!(run.state(begun + 5_001), State::Open(begun + 5_000));
        // A worker whose clock is a little behind neither closes it nor begins it anew.
        run.refused(begun + 4_990);
        assert_eq!(run.state(begun + 5_999), State::Open(begun + 5_000));
    }

    #[test]
    fn each_counts_apart_and_never_beyond_its_limit() {
        let breakers = Arc::new(Breakers::default());
        for bound in Bound::ALL {
            let limits = BreakerLimits {
                connections: Some(3),
                pending: Some(3),
                requests: Some(3),
                retries: Some(3),
            };
            let enter = || breakers.enter(bound, limits.of(bound));
            let mut held: Vec<Permit> = (0..3).filter_map(|_| enter()).collect();
            assert_eq!((held.len(), breakers.of(bound).in_use()), (3, 3), "{bound:?}");
            assert!(enter().is_none(), "{bound:?}");
            held.pop();
            assert!(enter().is_some(), "{bound:?}");
            assert!(breakers.enter(bound, None).is_some(), "{bound:?}");
        }
        assert!(Bound::ALL.iter().all(|bound| breakers.of(*bound).in_use() == 0));
        assert!(breakers.enter(Bound::Pending, Some(0)).is_none(), "nobody waits");
    }

    #[test]
    fn threads_together_hold_no_more_than_the_limit() {
        let breakers = Arc::new(Breakers::default());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let held = breakers.enter(Bound::Requests, Some(3));
                        assert!(breakers.of(Bound::Requests).in_use() <= 3);
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(breakers.of(Bound::Requests).in_use(), 0);
    }
}
