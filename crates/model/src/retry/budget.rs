//! The retry budget of a pool: a share of its requests over a sliding window, and a floor.
//!
//! Each worker counts its requests and retries in its own window; only a retry sums the windows of all workers. So a
//! request touches no shared cache line. Two workers that sum at the same moment may both use the last retry. So each
//! worker exceeds the budget by at most one retry.
//!
//! Without a budget a failing server gets `retries` times more load exactly when it can serve least (Beyer et al., Site
//! Reliability Engineering, 2016, ch. 22: "Addressing Cascading Failures"). It reads no clock.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::RetryConfig;
use crate::monotonic_time::MonotonicTime;

/// Parts of a window: it slides by a tenth at a time.
/// A tenth of the window is the error of the sliding sum.
const PARTS: usize = 10;

/// One worker's recent counts. One thread writes, any reads.
#[derive(Debug, Default)]
pub struct RetryBudgetWindow {
    buckets: [RetryWindowPart; PARTS],
}

#[derive(Debug, Default)]
struct RetryWindowPart {
    /// The turn of the window that this part counts; 0: none yet.
    turn: AtomicU64,
    requests: AtomicU64,
    retries: AtomicU64,
}

/// Requests and retries within a window, over all workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryUsage {
    pub requests: u64,
    pub retries: u64,
}

impl RetryBudgetWindow {
    /// Counts a request. Only the window's owner may call it.
    #[inline]
    pub fn record_request(&self, terms: &RetryConfig, now: MonotonicTime) {
        add(&self.part_for(window_turn(terms, now)).requests);
    }

    /// Counts a retry. Only the window's owner may call it.
    pub fn record_retry(&self, terms: &RetryConfig, now: MonotonicTime) {
        add(&self.part_for(window_turn(terms, now)).retries);
    }

    #[inline]
    fn part_for(&self, turn: u64) -> &RetryWindowPart {
        let part = &self.buckets[(turn % PARTS as u64) as usize];
        if part.turn.load(Ordering::Relaxed) != turn {
            part.requests.store(0, Ordering::Relaxed);
            part.retries.store(0, Ordering::Relaxed);
            part.turn.store(turn, Ordering::Relaxed);
        }
        part
    }

    fn read_usage(&self, turn: u64) -> RetryUsage {
        let inside = |part: &&RetryWindowPart| {
            let its = part.turn.load(Ordering::Relaxed);
            its > 0 && its <= turn && turn - its < PARTS as u64
        };
        let mut spent = RetryUsage::default();
        for part in self.buckets.iter().filter(inside) {
            spent.requests += part.requests.load(Ordering::Relaxed);
            spent.retries += part.retries.load(Ordering::Relaxed);
        }
        spent
    }
}

/// The sum of all workers within the window that ends now.
pub fn sum_usage<'a>(
    windows: impl Iterator<Item = &'a RetryBudgetWindow>,
    terms: &RetryConfig,
    now: MonotonicTime,
) -> RetryUsage {
    let turn = window_turn(terms, now);
    windows.map(|window| window.read_usage(turn)).fold(RetryUsage::default(), |sum, part| {
        RetryUsage { requests: sum.requests + part.requests, retries: sum.retries + part.retries }
    })
}

/// The retries of a window with this many requests; `None`: unlimited.
pub fn retry_limit(terms: &RetryConfig, requests: u64) -> Option<u64> {
    let share = requests.saturating_mul(u64::from(terms.budget?)) / 100;
    let millis = u64::try_from(terms.window.as_millis()).unwrap_or(u64::MAX);
    let floor = u64::from(terms.at_least).saturating_mul(millis) / 1000;
    Some(share.saturating_add(floor))
}

/// Whether one more retry is allowed.
pub fn has_budget(terms: &RetryConfig, spent: RetryUsage) -> bool {
    retry_limit(terms, spent.requests).is_none_or(|most| spent.retries < most)
}

fn window_turn(terms: &RetryConfig, now: MonotonicTime) -> u64 {
    let part = u64::try_from(terms.window.as_nanos()).unwrap_or(u64::MAX) / PARTS as u64;
    now.0 / part.max(1) + 1
}

fn add(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonotonicTime {
        MonotonicTime(millis * 1_000_000)
    }

    fn tries(window: &RetryBudgetWindow, terms: &RetryConfig, now: MonotonicTime) -> bool {
        let fits = has_budget(terms, sum_usage([window].into_iter(), terms, now));
        if fits {
            window.record_retry(terms, now);
        }
        fits
    }

    #[test]
    fn few_requests_have_the_floor_and_many_their_share() {
        let terms = RetryConfig::default();
        for (requests, want) in [(0, 100), (4, 100), (5, 101), (10_000, 2_100)] {
            assert_eq!(retry_limit(&terms, requests), Some(want), "{requests}");
        }
        assert_eq!(retry_limit(&RetryConfig { budget: None, ..terms.clone() }, 7), None);
        let none = RetryConfig { budget: Some(0), at_least: 0, ..terms };
        assert_eq!(retry_limit(&none, 1_000_000), Some(0));
    }

    #[test]
    fn what_left_the_window_is_forgotten_and_a_clock_at_zero_counts() {
        let terms = RetryConfig { at_least: 1, ..RetryConfig::default() };
        let window = RetryBudgetWindow::default();
        for _ in 0..10 {
            assert!(tries(&window, &terms, at(0)));
        }
        assert!(!tries(&window, &terms, at(0)));
        assert!(!tries(&window, &terms, at(9_999)));
        assert!(tries(&window, &terms, at(10_000)));
        // After two rotations the part is the same one, and empty.
        assert_eq!(sum_usage([&window].into_iter(), &terms, at(40_000)), RetryUsage::default());
    }

    #[test]
    fn over_any_time_the_attempts_stay_within_share_and_floor() {
        for seed in 1..50 {
            let mut rng = crate::load_balancing::Rng::new(seed);
            let terms = RetryConfig {
                budget: Some(rng.below(101) as u8),
                at_least: rng.below(20) as u32,
                ..RetryConfig::default()
            };
            let windows = [
                RetryBudgetWindow::default(),
                RetryBudgetWindow::default(),
                RetryBudgetWindow::default(),
            ];
            let mut now = 0;
            let mut requests = 0_u64;
            let mut attempts = 0_u64;
            for _ in 0..5_000 {
                now += rng.below(20);
                let own = &windows[rng.below(3) as usize];
                own.record_request(&terms, at(now));
                requests += 1;
                for _ in 0..rng.below(4) {
                    if has_budget(&terms, sum_usage(windows.iter(), &terms, at(now))) {
                        own.record_retry(&terms, at(now));
                        attempts += 1;
                    }
                }
            }
            // Requests at a window's end may be counted for retries twice: in this window and in the next.
            let share = requests * u64::from(terms.budget.unwrap_or(0)) / 100;
            let floor = u64::from(terms.at_least) * (now / 1000 + 11);
            assert!(
                attempts <= share * 11 / 10 + floor + 10,
                "seed {seed}: {attempts}, {share}, {floor}"
            );
        }
    }
}
