//! Failures of exchanges by service, kind and time: exact counts of the last hour, in bounded memory.
//!
//! It reads no clock: the time of the look that found them is passed in.

use std::collections::{BTreeMap, VecDeque};

use super::ended_counts::FailureCount;
use super::slow_exchanges::{SLICE, SLICES};
use crate::exchange_failure::ExchangeFailure;

/// Limit for rows over all slices: bounds the memory. A full hour of ten kinds has 3,600.
const MAX_ROWS: usize = 65_536;

#[derive(Debug, Default)]
pub struct FailureHistory {
    slices: VecDeque<FailureSlice>,
    rows: usize,
}

#[derive(Debug)]
struct FailureSlice {
    number: u64,
    rows: BTreeMap<FailureKey, FailurePeriod>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FailureKey {
    service: u32,
    failure: ExchangeFailure,
}

/// Failures of one kind within a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailurePeriod {
    pub count: u64,
    /// When the first was found, nanoseconds on the workers' clock.
    pub first_at: u64,
    pub last_at: u64,
}

/// Failures of one kind, of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedFailure {
    pub failure: ExchangeFailure,
    pub period: FailurePeriod,
}

impl FailureHistory {
    /// Adds failures that were found at `now`.
    pub fn add(&mut self, service: u32, found: &[FailureCount], now: u64) {
        let number = now / SLICE;
        if self.slices.back().is_none_or(|slice| slice.number < number) {
            self.slices.push_back(FailureSlice { number, rows: BTreeMap::new() });
        }
        let Some(slice) = self.slices.back_mut() else { return };
        for one in found {
            let key = FailureKey { service, failure: one.failure };
            let added = FailurePeriod { count: one.count, first_at: now, last_at: now };
            match slice.rows.get_mut(&key) {
                Some(row) => row.join(added),
                None => {
                    slice.rows.insert(key, added);
                    self.rows += 1;
                }
            }
        }
        while let Some(first) = self.slices.front() {
            let old = first.number + SLICES as u64 <= number;
            if !old && (self.rows <= MAX_ROWS || self.slices.len() == 1) {
                break;
            }
            self.rows -= first.rows.len();
            self.slices.pop_front();
        }
    }

    /// The failures of a service since a time, the most frequent first.
    pub fn of_service(&self, service: u32, since: u64) -> Vec<CountedFailure> {
        let mut sums: BTreeMap<ExchangeFailure, FailurePeriod> = BTreeMap::new();
        for (key, row) in self.slices.iter().flat_map(|slice| &slice.rows) {
            if key.service == service && row.last_at >= since {
                sums.entry(key.failure).and_modify(|sum| sum.join(*row)).or_insert(*row);
            }
        }
        let mut rows: Vec<CountedFailure> =
            sums.into_iter().map(|(failure, period)| CountedFailure { failure, period }).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.period.count));
        rows
    }
}

impl FailurePeriod {
    fn join(&mut self, other: FailurePeriod) {
        self.count += other.count;
        self.first_at = self.first_at.min(other.first_at);
        self.last_at = self.last_at.max(other.last_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Cause;

    fn refused(count: u64) -> [FailureCount; 1] {
        [FailureCount { failure: ExchangeFailure::Cause(Cause::ServerRefused), count }]
    }

    #[test]
    fn failures_are_summed_over_the_time_that_is_asked_about() {
        let mut history = FailureHistory::default();
        history.add(0, &refused(3), 5);
        history.add(0, &refused(4), SLICE + 7);
        history.add(1, &refused(9), SLICE + 8);
        history.add(
            0,
            &[FailureCount { failure: ExchangeFailure::ServerStatus, count: 10 }],
            SLICE + 9,
        );
        let rows = history.of_service(0, 0);
        assert_eq!(rows[0].failure, ExchangeFailure::ServerStatus);
        assert_eq!(rows[1].period, FailurePeriod { count: 7, first_at: 5, last_at: SLICE + 7 });
        assert_eq!(history.of_service(0, SLICE)[1].period.count, 4);
        assert!(history.of_service(0, 2 * SLICE).is_empty());
    }

    #[test]
    fn old_failures_and_those_beyond_the_bound_are_removed() {
        let mut history = FailureHistory::default();
        history.add(0, &refused(1), 0);
        history.add(0, &refused(1), SLICES as u64 * SLICE);
        assert_eq!((history.of_service(0, 0)[0].period.count, history.rows), (1, 1));
        for service in 0..MAX_ROWS as u32 + 10 {
            history.add(
                service,
                &refused(1),
                (SLICES as u64 + 1 + u64::from(service) / 4_096) * SLICE,
            );
        }
        assert!(history.rows <= MAX_ROWS + 4_096, "{}", history.rows);
    }
}
