//! A histogram of durations that one thread writes and others read.
//!
//! Microseconds in log-linear buckets: four a doubling, so a quantile is at most 25 % too high. Fixed size, no
//! allocation, no minimum and no exact samples.

use std::time::Duration;

use crate::counter::Count;

/// Buckets: 0–3 µs one each, then four for each doubling up to 2^36 µs (19 hours).
pub const BUCKETS: usize = 4 + 34 * 4;

/// A histogram that one worker writes.
#[derive(Debug)]
pub struct Histogram {
    buckets: [Count; BUCKETS],
    /// The sum of all recorded times in nanoseconds.
    sum_nanos: Count,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            buckets: std::array::from_fn(|_| Count::default()),
            sum_nanos: Count::default(),
        }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket_index(nanos / 1000)].add(1);
        self.sum_nanos.add(nanos);
    }

    /// The sum of all recorded times in nanoseconds.
    #[inline]
    pub fn sum_nanos(&self) -> u64 {
        self.sum_nanos.get()
    }
}

/// The sum of several histograms, for reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramSum {
    pub buckets: [u64; BUCKETS],
    pub sum_nanos: u64,
}

impl Default for HistogramSum {
    fn default() -> Self {
        HistogramSum { buckets: [0; BUCKETS], sum_nanos: 0 }
    }
}

impl HistogramSum {
    /// Adds the counts of another thread.
    pub fn add(&mut self, from: &Histogram) {
        // First, because it is counted last: whoever finds the same sum again has missed no bucket.
        self.sum_nanos += from.sum_nanos();
        for (sum, count) in self.buckets.iter_mut().zip(&from.buckets) {
            *sum += count.get();
        }
    }

    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The upper edge of the bucket that holds the quantile `q` (0–1); `None` if empty.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count);
        let mut seen = 0;
        for (at, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return Some(Duration::from_micros(bucket_limit(at)));
            }
        }
        None
    }

    /// Counts values of at most `limit`, whole buckets only.
    pub fn count_at_most(&self, limit: Duration) -> u64 {
        let micros = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
        self.buckets
            .iter()
            .enumerate()
            .take_while(|(at, _)| bucket_limit(*at) <= micros)
            .map(|(_, n)| n)
            .sum()
    }
}

/// The bucket for this many microseconds.
fn bucket_index(micros: u64) -> usize {
    if micros < 4 {
        return micros as usize;
    }
    let octave = 63 - micros.leading_zeros() as usize;
    let part = (micros >> (octave - 2)) as usize & 3;
    (4 + (octave - 2) * 4 + part).min(BUCKETS - 1)
}

/// The first microsecond above this bucket.
fn bucket_limit(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64 + 1;
    }
    let octave = (bucket - 4) / 4 + 2;
    let part = ((bucket - 4) % 4) as u64;
    (1 << octave) + (part + 1) * (1 << (octave - 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_below_the_upper_edge_of_its_bucket_and_not_below_the_one_before() {
        for micros in (0..5000).chain([1 << 20, (1 << 20) + 1, (1 << 35) - 1]) {
            let at = bucket_index(micros);
            assert!(micros < bucket_limit(at), "{micros} in {at}");
            assert!(at == 0 || micros >= bucket_limit(at - 1), "{micros} in {at}");
        }
        assert_eq!(bucket_index(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_upper_edges() {
        let histogram = Histogram::default();
        for micros in [10, 20, 30, 1000] {
            histogram.record(Duration::from_micros(micros));
        }
        let mut sum = HistogramSum::default();
        sum.add(&histogram);
        assert_eq!(sum.count(), 4);
        assert_eq!(sum.quantile(0.5), Some(Duration::from_micros(24)));
        assert_eq!(sum.quantile(1.0), Some(Duration::from_micros(1024)));
        assert_eq!(sum.count_at_most(Duration::from_micros(100)), 3);
        assert_eq!(HistogramSum::default().quantile(0.5), None);
    }
}
