//! When a limit will be reached at the rate at which its use grows: a straight line through recent samples.
//!
//! Pure: times and uses are passed in. A use that does not grow, or varies more than it grows, never reaches its limit.

use std::collections::VecDeque;
use std::time::Duration;

use crate::monotonic_time::MonotonicTime;

/// Recent samples of the use of one limit.
#[derive(Clone, Debug, Default)]
pub struct UsageTrend {
    samples: VecDeque<UsageSample>,
}

/// How much of a limit was in use at one time.
#[derive(Clone, Copy, Debug)]
struct UsageSample {
    at: MonotonicTime,
    used: u64,
}

impl UsageTrend {
    /// Adds a sample. Times must not go backwards.
    pub fn add(&mut self, now: MonotonicTime, used: u64) {
        self.samples.push_back(UsageSample { at: now, used });
        while self.samples.len() > MOST
            || self.samples.front().is_some_and(|first| is_old(first.at, now))
        {
            self.samples.pop_front();
        }
    }

    /// When `limit` will be reached at the present growth; `None`: cannot be predicted, or later than in a year.
    pub fn time_to_exhaustion(&self, limit: u64) -> Option<Duration> {
        let first = self.samples.front()?.at;
        let last = self.samples.back()?.used;
        if last >= limit {
            return Some(Duration::ZERO);
        }
        if self.samples.len() < FEWEST {
            return None;
        }
        let points = self
            .samples
            .iter()
            .map(|sample| (sample.at.since(first).as_secs_f64(), sample.used as f64));
        let many = self.samples.len() as f64;
        let (times, uses) = points.clone().fold((0.0, 0.0), |(t, u), (x, y)| (t + x, u + y));
        let middle = times / many;
        let mean = uses / many;
        let mut along = 0.0;
        let mut across = 0.0;
        let mut total = 0.0;
        for (x, y) in points {
            along += (x - middle) * (x - middle);
            across += (x - middle) * (y - mean);
            total += (y - mean) * (y - mean);
        }
        let slope = across / along;
        // The share of the variance that the line explains (R squared).
        let explained = across * across / (along * total);
        if !(slope > 0.0 && explained >= EXPLAINED) {
            return None;
        }
        let seconds = (limit - last) as f64 / slope;
        (seconds <= YEAR).then(|| Duration::from_secs_f64(seconds))
    }
}

fn is_old(at: MonotonicTime, now: MonotonicTime) -> bool {
    now.since(at) > WINDOW
}

/// Older samples do not show the present growth.
/// Two minutes follow the growth of a morning, and smooth single bursts.
const WINDOW: Duration = Duration::from_secs(120);
/// Bounds the memory of a trend, whatever the window: one sample a second.
const MOST: usize = 120;
/// Fewer points always lie near a line.
const FEWEST: usize = 5;
/// Below this share of explained variance, the use fluctuates rather than grows.
const EXPLAINED: f64 = 0.7;
/// Seconds; a forecast beyond it is no forecast.
const YEAR: f64 = 365.0 * 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(uses: &[u64]) -> UsageTrend {
        let mut trend = UsageTrend::default();
        let seconds = uses.iter().enumerate();
        seconds.for_each(|(at, used)| trend.add(MonotonicTime(at as u64 * 2_000_000_000), *used));
        trend
    }

    #[test]
    fn what_grows_ends_and_what_does_not_does_not() {
        let growing = of(&[100, 110, 120, 130, 140]);
        assert_eq!(growing.time_to_exhaustion(640), Some(Duration::from_secs(100)));
        assert_eq!(growing.time_to_exhaustion(140), Some(Duration::ZERO));
        assert_eq!(growing.time_to_exhaustion(u64::MAX), None, "not within a year");
        assert_eq!(of(&[100, 110, 120, 130]).time_to_exhaustion(640), None, "too few");
        assert_eq!(of(&[140, 130, 120, 110, 100]).time_to_exhaustion(640), None);
        assert_eq!(of(&[100; 20]).time_to_exhaustion(640), None);
        assert_eq!(of(&[100, 180, 90, 170, 100, 175]).time_to_exhaustion(640), None, "it wavers");
        assert_eq!(UsageTrend::default().time_to_exhaustion(0), None, "nothing was seen");
    }

    #[test]
    fn what_was_long_ago_does_not_count() {
        let mut trend = of(&[0, 100, 200, 300, 400, 500]);
        let later = |at: u64| MonotonicTime((1_000 + at) * 1_000_000_000);
        (0..10).for_each(|at| trend.add(later(at), 500));
        assert_eq!(trend.time_to_exhaustion(1_000), None);
    }

    proptest! {
        /// Any input has a result, and noise of a tenth of the growth changes the result little.
        #[test]
        fn noise_moves_the_end_little(
            step in 100_u64..10_000,
            noise in prop::collection::vec(0_u64..10, 30),
        ) {
            let uses: Vec<u64> = (0..).zip(&noise).map(|(at, n)| at * step + n * step / 100).collect();
            let last = *uses.last().unwrap();
            let end = of(&uses).time_to_exhaustion(last + step * 50).unwrap().as_secs_f64();
            prop_assert!((90.0..110.0).contains(&end), "{}", end);
        }

        #[test]
        fn any_uses_have_an_answer(uses in prop::collection::vec(any::<u64>(), 0..200), limit in any::<u64>()) {
            let _ = of(&uses).time_to_exhaustion(limit);
        }
    }
}
