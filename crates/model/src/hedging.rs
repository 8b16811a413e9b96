//! Hedging: when a second server gets a request because the first one has not started to respond. After a fixed time,
//! or at a percentile of recent response times.
//!
//! At the 95th percentile at most one request in twenty is sent twice. The slowest of them end when the faster of two
//! servers has responded (Dean and Barroso, The Tail at Scale, 2013). It reads no clock and sends no request.

use std::time::Duration;

use crate::config::{HedgeDelay, HedgingConfig};
use crate::monotonic_time::MonotonicTime;
use crate::stats::{Histogram, HistogramSum};

/// The length of a window. The estimate covers the last full window and the running one.
/// Five to ten seconds of answers: recent, and enough for a percentile.
const SPAN: Duration = Duration::from_secs(5);

/// How long an estimate is reused: bounds the processor time of quantiles to five a second.
const FRESH: Duration = Duration::from_millis(200);

/// Fewer responses than this give no meaningful percentile.
/// With fewer, the 95th percentile would be the slowest of all.
const LEAST: u64 = 20;

/// Recent response times, as one worker saw them.
#[derive(Debug, Default)]
pub struct HedgeDelayEstimator {
    current: Histogram,
    previous: HistogramSum,
    /// Start of the running window; `None`: no response yet.
    started_at: Option<MonotonicTime>,
    estimate: Option<DelayEstimate>,
}

#[derive(Clone, Copy, Debug)]
struct DelayEstimate {
    at: MonotonicTime,
    delay: Option<Duration>,
}

impl HedgeDelayEstimator {
    /// Records the time from a request to the start of its response.
    pub fn record_latency(&mut self, took: Duration, now: MonotonicTime) {
        self.rotate_windows(now);
        self.current.record(took);
    }

    /// How long to wait for the first server; `None`: too few samples, no hedging.
    pub fn delay(&mut self, terms: &HedgingConfig, now: MonotonicTime) -> Option<Duration> {
        let percentile = match terms.after {
            HedgeDelay::Time(after) => return Some(after),
            HedgeDelay::Percentile(percentile) => f64::from(percentile) / 100.0,
        };
        if let Some(estimate) = self.estimate.filter(|estimate| now.since(estimate.at) < FRESH) {
            return estimate.delay;
        }
        self.rotate_windows(now);
        let mut sum = self.previous.clone();
        sum.add(&self.current);
        let known = sum.count() >= LEAST;
        let delay =
            sum.quantile(percentile).filter(|_| known).map(|delay| delay.max(terms.at_least));
        self.estimate = Some(DelayEstimate { at: now, delay });
        delay
    }

    /// Drops windows that have ended.
    fn rotate_windows(&mut self, now: MonotonicTime) {
        let begun = *self.started_at.get_or_insert(now);
        if now < begun + SPAN {
            return;
        }
        self.previous = HistogramSum::default();
        if now < begun + 2 * SPAN {
            self.previous.add(&self.current);
        }
        self.current = Histogram::default();
        self.started_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonotonicTime {
        MonotonicTime(millis * 1_000_000)
    }

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn percentile(percentile: u8, at_least: u64) -> HedgingConfig {
        HedgingConfig { after: HedgeDelay::Percentile(percentile), at_least: millis(at_least) }
    }

    /// The nearest bucket boundary above, at most a quarter off.
    fn about(delay: Option<Duration>, want: u64) -> bool {
        delay.is_some_and(|delay| (millis(want)..=millis(want * 5 / 4 + 1)).contains(&delay))
    }

    #[test]
    fn a_time_is_a_time_and_a_percentile_needs_answers() {
        let mut recent = HedgeDelayEstimator::default();
        let fixed = HedgingConfig { after: HedgeDelay::Time(millis(7)), at_least: millis(100) };
        assert_eq!(recent.delay(&fixed, at(0)), Some(millis(7)));
        let p90 = percentile(90, 0);
        for n in 0..19 {
            recent.record_latency(millis(10), at(n));
        }
        assert_eq!(recent.delay(&p90, at(20)), None);
        recent.record_latency(millis(10), at(21));
        assert_eq!(recent.delay(&p90, at(22)), None, "it is not looked up each time");
        assert!(about(recent.delay(&p90, at(220)), 10));
        assert_eq!(recent.delay(&percentile(90, 300), at(500)), Some(millis(300)));
    }

    #[test]
    fn of_a_hundred_the_last_few_are_above_the_percentile() {
        for (percent, want) in [(50, 20), (90, 20), (95, 400), (99, 400)] {
            let mut recent = HedgeDelayEstimator::default();
            for n in 0..100 {
                recent.record_latency(millis(if n < 92 { 20 } else { 400 }), at(n));
            }
            let delay = recent.delay(&percentile(percent, 0), at(100));
            assert!(about(delay, want), "{percent}: {delay:?}");
        }
    }

    #[test]
    fn what_is_long_ago_is_forgotten() {
        let mut recent = HedgeDelayEstimator::default();
        let p50 = percentile(50, 0);
        for n in 0..100 {
            recent.record_latency(millis(500), at(n));
        }
        for n in 0..60 {
            recent.record_latency(millis(10), at(5_100 + n));
        }
        assert!(about(recent.delay(&p50, at(5_200)), 500), "both count");
        assert!(about(recent.delay(&p50, at(10_200)), 10));
        assert_eq!(recent.delay(&p50, at(60_000)), None);
    }
}
