//! The response time of a server over all workers: one smoothed value a server, without a lock.
//!
//! If two workers write at once, one measurement is dropped: the mean does not need every one. `fastest`, `peak-ewma`
//! and `prequal` use it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::monotonic_time::MonotonicTime;

/// The time constant of smoothing: responses of about this age still count.
/// Five seconds smooth the spread of single requests and follow a change of load within a few.
const TAU_SECONDS: f32 = 5.0;
/// The unit of stored times, as a power of two of nanoseconds: 16 µs, so that 32 bits last 19 hours.
const TICK_BITS: u32 = 14;
const TICK_SECONDS: f32 = (1u64 << TICK_BITS) as f32 / 1e9;
/// Smallest time that a failure counts as, microseconds: a fast refusal must not look like a fast server.
/// As the first threshold of slow exchanges, 100 ms.
const FAILURE_MICROS: f32 = 100_000.0;
/// Caps the time of repeated failures, microseconds: bounds how long a server needs to recover.
const LONGEST_MICROS: f32 = 60e6;

/// A smoothed response time.
#[derive(Debug, Default)]
pub struct LatencyEwma(AtomicU64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyMean {
    pub micros: f32,
    ticks: u32,
}

impl LatencyEwma {
    /// Records a response time: moves the mean towards it.
    pub fn record_answer(&self, took: Duration, now: MonotonicTime) {
        self.update(now, |old, keep| {
            let new = took.as_secs_f32() * 1e6;
            old.map_or(new, |old| old * keep + new * (1.0 - keep))
        });
    }

    /// The same, but a time above the mean counts fully at once.
    pub fn record_answer_peak(&self, took: Duration, now: MonotonicTime) {
        self.update(now, |old, keep| {
            let new = took.as_secs_f32() * 1e6;
            old.map_or(new, |old| if new > old { new } else { old * keep + new * (1.0 - keep) })
        });
    }

    /// Records a failure. A fast refusal must not look like a fast server: each counts as twice the mean.
    pub fn record_failure(&self, now: MonotonicTime) {
        self.update(now, |old, _| {
            old.map_or(FAILURE_MICROS, |old| (old * 2.0).clamp(FAILURE_MICROS, LONGEST_MICROS))
        });
    }

    /// The mean; `None`: no response yet.
    #[inline]
    pub fn mean(&self) -> Option<LatencyMean> {
        unpack(self.0.load(Ordering::Relaxed))
    }

    /// The present value, which falls while there are no responses.
    #[inline]
    pub fn decayed_peak(&self, now: MonotonicTime) -> Option<f32> {
        self.mean().map(|mean| mean.micros * decay_factor(mean.ticks, ticks(now)))
    }

    fn update(&self, now: MonotonicTime, with: impl FnOnce(Option<f32>, f32) -> f32) {
        let word = self.0.load(Ordering::Relaxed);
        let ticks = ticks(now);
        let old = unpack(word);
        let keep = old.map_or(0.0, |old| decay_factor(old.ticks, ticks));
        // Never zero, which stands for "unknown".
        let micros = with(old.map(|old| old.micros), keep).clamp(0.001, LONGEST_MICROS);
        let new = u64::from(micros.to_bits()) << 32 | u64::from(ticks);
        // A lost race drops this measurement, which is fine: see above.
        let _ = self.0.compare_exchange(word, new, Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn unpack(word: u64) -> Option<LatencyMean> {
    (word != 0)
        .then(|| LatencyMean { micros: f32::from_bits((word >> 32) as u32), ticks: word as u32 })
}

fn ticks(now: MonotonicTime) -> u32 {
    (now.0 >> TICK_BITS) as u32
}

/// The share of an old value that still counts. Workers' clocks may differ a little: a time in the future counts as
/// now.
fn decay_factor(then: u32, now: u32) -> f32 {
    let passed = now.wrapping_sub(then) as i32;
    (-(passed.max(0) as f32) * TICK_SECONDS / TAU_SECONDS).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonotonicTime {
        MonotonicTime(millis * 1_000_000)
    }

    fn millis(pace: &LatencyEwma) -> f32 {
        pace.mean().map_or(0.0, |mean| mean.micros / 1e3)
    }

    #[test]
    fn the_mean_follows_answers_within_seconds() {
        let pace = LatencyEwma::default();
        assert_eq!(pace.mean(), None);
        pace.record_answer(Duration::from_millis(10), at(1000));
        assert!((millis(&pace) - 10.0).abs() < 0.1);
        for step in 0..300 {
            pace.record_answer(Duration::from_millis(30), at(1000 + step * 100));
        }
        assert!((millis(&pace) - 30.0).abs() < 0.5, "{}", millis(&pace));
    }

    #[test]
    fn a_peak_counts_at_once_and_fades() {
        let pace = LatencyEwma::default();
        pace.record_answer_peak(Duration::from_millis(10), at(0));
        pace.record_answer_peak(Duration::from_millis(500), at(10));
        assert!((millis(&pace) - 500.0).abs() < 1.0);
        assert!(pace.decayed_peak(at(5010)).unwrap() < 200_000.0);
        assert!(
            pace.decayed_peak(at(5)).unwrap() > 499_000.0,
            "a clock that is behind takes nothing away"
        );
    }

    #[test]
    fn failures_are_never_quick() {
        let pace = LatencyEwma::default();
        for step in 0..40 {
            pace.record_failure(at(step));
        }
        assert_eq!(pace.mean().unwrap().micros, LONGEST_MICROS);
        let quick = LatencyEwma::default();
        quick.record_answer(Duration::from_micros(50), at(0));
        quick.record_failure(at(1));
        assert_eq!(quick.mean().unwrap().micros, FAILURE_MICROS);
    }
}
