//! How many further attempts a pool may make: a share of its requests over a sliding window, and a floor.
//!
//! A worker counts its requests and attempts in parts of the window of its own, and only whoever wants a further attempt
//! looks at those of all workers: a request costs no shared cache line. Two workers that look at the same moment may
//! each take the last one, so at most one attempt a worker is made beyond the budget.
//!
//! Without a budget a server that fails gets as much more load as `retries` says, just when it has least to give
//! (Beyer et al., Site Reliability Engineering, 2016, ch. 22: "Addressing Cascading Failures"). It knows no clock.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::Retry;
use crate::moment::Moment;

/// Parts of a window: what leaves it leaves by a tenth at a time.
const PARTS: usize = 10;

/// One worker's counts of the last while. One thread writes, any reads.
#[derive(Debug, Default)]
pub struct Window {
    parts: [Part; PARTS],
}

/// One part.
#[derive(Debug, Default)]
struct Part {
    /// Which turn of the window it counts; 0: none yet.
    turn: AtomicU64,
    requests: AtomicU64,
    attempts: AtomicU64,
}

/// What happened within a window, over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Requests.
    pub requests: u64,
    /// Further attempts.
    pub attempts: u64,
}

impl Window {
    /// Counts a request. Only the window's owner may call it.
    #[inline]
    pub fn request(&self, terms: &Retry, now: Moment) {
        add(&self.part(turn(terms, now)).requests);
    }

    /// Counts a further attempt. Only the window's owner may call it.
    pub fn attempt(&self, terms: &Retry, now: Moment) {
        add(&self.part(turn(terms, now)).attempts);
    }

    #[inline]
    fn part(&self, turn: u64) -> &Part {
        let part = &self.parts[(turn % PARTS as u64) as usize];
        if part.turn.load(Ordering::Relaxed) != turn {
            part.requests.store(0, Ordering::Relaxed);
            part.attempts.store(0, Ordering::Relaxed);
            part.turn.store(turn, Ordering::Relaxed);
        }
        part
    }

    fn read(&self, turn: u64) -> Spent {
        let inside = |part: &&Part| {
            let its = part.turn.load(Ordering::Relaxed);
            its > 0 && its <= turn && turn - its < PARTS as u64
        };
        let mut spent = Spent::default();
        for part in self.parts.iter().filter(inside) {
            spent.requests += part.requests.load(Ordering::Relaxed);
            spent.attempts += part.attempts.load(Ordering::Relaxed);
        }
        spent
    }
}

/// What all workers did within the window that ends now.
pub fn spent<'a>(windows: impl Iterator<Item = &'a Window>, terms: &Retry, now: Moment) -> Spent {
    let turn = turn(terms, now);
    windows.map(|window| window.read(turn)).fold(Spent::default(), |sum, one| Spent {
        requests: sum.requests + one.requests,
        attempts: sum.attempts + one.attempts,
    })
}

/// How many further attempts a window with so many requests may have; `None`: any number.
pub fn allowed(terms: &Retry, requests: u64) -> Option<u64> {
    let share = requests.saturating_mul(u64::from(terms.budget?)) / 100;
    let millis = u64::try_from(terms.window.as_millis()).unwrap_or(u64::MAX);
    let floor = u64::from(terms.at_least).saturating_mul(millis) / 1000;
    Some(share.saturating_add(floor))
}

/// Whether one more may be made.
pub fn allows(terms: &Retry, spent: Spent) -> bool {
    allowed(terms, spent.requests).is_none_or(|most| spent.attempts < most)
}

fn turn(terms: &Retry, now: Moment) -> u64 {
    let part = u64::try_from(terms.window.as_nanos()).unwrap_or(u64::MAX) / PARTS as u64;
    now.0 / part.max(1) + 1
}

fn add(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment(millis * 1_000_000)
    }

    fn tries(window: &Window, terms: &Retry, now: Moment) -> bool {
        let fits = allows(terms, spent([window].into_iter(), terms, now));
        if fits {
            window.attempt(terms, now);
        }
        fits
    }

    #[test]
    fn few_requests_have_the_floor_and_many_their_share() {
        let terms = Retry::default();
        for (requests, want) in [(0, 100), (4, 100), (5, 101), (10_000, 2_100)] {
            assert_eq!(allowed(&terms, requests), Some(want), "{requests}");
        }
        assert_eq!(allowed(&Retry { budget: None, ..terms.clone() }, 7), None);
        let none = Retry { budget: Some(0), at_least: 0, ..terms };
        assert_eq!(allowed(&none, 1_000_000), Some(0));
    }

    #[test]
    fn what_left_the_window_is_forgotten_and_a_clock_at_zero_counts() {
        let terms = Retry { at_least: 1, ..Retry::default() };
        let window = Window::default();
        for _ in 0..10 {
            assert!(tries(&window, &terms, at(0)));
        }
        assert!(!tries(&window, &terms, at(0)));
        assert!(!tries(&window, &terms, at(9_999)));
        assert!(tries(&window, &terms, at(10_000)));
        // Twice around: the part is the same one, and empty.
        assert_eq!(spent([&window].into_iter(), &terms, at(40_000)), Spent::default());
    }

    #[test]
    fn over_any_time_the_attempts_stay_within_share_and_floor() {
        for seed in 1..50 {
            let mut rng = crate::pick::Rng::new(seed);
            let terms = Retry {
                budget: Some(rng.below(101) as u8),
                at_least: rng.below(20) as u32,
                ..Retry::default()
            };
            let windows = [Window::default(), Window::default(), Window::default()];
            let (mut now, mut requests, mut attempts) = (0, 0_u64, 0_u64);
            for _ in 0..5_000 {
                now += rng.below(20);
                let own = &windows[rng.below(3) as usize];
                own.request(&terms, at(now));
                requests += 1;
                for _ in 0..rng.below(4) {
                    if allows(&terms, spent(windows.iter(), &terms, at(now))) {
                        own.attempt(&terms, at(now));
                        attempts += 1;
                    }
                }
            }
            // Requests at a window's end may have been spent on twice: in it, and by the one that begins there.
            let share = requests * u64::from(terms.budget.unwrap_or(0)) / 100;
            let floor = u64::from(terms.at_least) * (now / 1000 + 11);
            assert!(
                attempts <= share * 11 / 10 + floor + 10,
                "seed {seed}: {attempts}, {share}, {floor}"
            );
        }
    }
}
