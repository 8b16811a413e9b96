//! A tally in the form that one machine sends to another: counts, and histograms as pairs that add up without loss.
//!
//! Percentiles are never sent, because those of several machines cannot be merged.

use hdrhistogram::{CreationError, Histogram};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fail::FailureCause;
use super::tally::{LoadEndCounts, LoadTally};

/// A value of a histogram and how often it was recorded. In JSON it is a list of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
struct RecordedTime {
    nanos: u64,
    count: u64,
}

impl From<(u64, u64)> for RecordedTime {
    fn from((nanos, count): (u64, u64)) -> RecordedTime {
        RecordedTime { nanos, count }
    }
}

impl From<RecordedTime> for (u64, u64) {
    fn from(RecordedTime { nanos, count }: RecordedTime) -> (u64, u64) {
        (nanos, count)
    }
}

/// A tally in serialisable form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TallyRecord {
    requests: u64,
    answered: u64,
    failed: Vec<u64>,
    answered_on_reused: u64,
    failed_on_reused: u64,
    in_flight: u64,
    statuses: [u64; 6],
    bytes_in: u64,
    bytes_body: u64,
    bytes_out: u64,
    at_end: Option<LoadEndCounts>,
    connects: u64,
    idle_ended: u64,
    never_ended: u64,
    /// Latency, service, connect, waiting, lag.
    histograms: [Vec<RecordedTime>; 5],
}

/// Why reported counts are invalid.
#[derive(Debug, Error)]
pub enum TallyRecordError {
    /// The sender runs another version of this program.
    #[error("counts of {0} causes of failure; this program knows {known}", known = FailureCause::COUNT)]
    Causes(usize),
    /// A time beyond the range of the histograms.
    #[error("a histogram holds {0} ns, which is longer than anything is recorded")]
    Time(u64),
    /// The counts do not add up.
    #[error("{requests} requests are not the sum of {parts} answered, failed and under way")]
    Sum { requests: u64, parts: u64 },
    /// A histogram could not be created.
    #[error("no histogram could be made")]
    Histogram(#[from] CreationError),
}

impl TallyRecord {
    pub(super) fn of(tally: &LoadTally) -> TallyRecord {
        let times = |histogram: &Histogram<u64>| {
            let recorded = histogram.iter_recorded();
            let time = recorded.map(|entry| RecordedTime {
                nanos: entry.value_iterated_to(),
                count: entry.count_at_value(),
            });
            time.collect()
        };
        TallyRecord {
            requests: tally.requests,
            answered: tally.answered,
            failed: tally.failed.to_vec(),
            answered_on_reused: tally.answered_on_reused,
            failed_on_reused: tally.failed_on_reused,
            in_flight: tally.in_flight,
            statuses: tally.statuses,
            bytes_in: tally.bytes_in,
            bytes_body: tally.bytes_body,
            bytes_out: tally.bytes_out,
            at_end: tally.at_end,
            connects: tally.connects,
            idle_ended: tally.idle_ended,
            never_ended: tally.never_ended,
            histograms: tally.histograms().map(times),
        }
    }

    /// Converts the record back to a tally.
    pub(super) fn to_tally(&self) -> Result<LoadTally, TallyRecordError> {
        let mut tally = LoadTally::new()?;
        tally.failed = <[u64; FailureCause::COUNT]>::try_from(self.failed.as_slice())
            .map_err(|_| TallyRecordError::Causes(self.failed.len()))?;
        let parts = [self.answered, self.in_flight].into_iter().chain(tally.failed);
        let parts = parts.fold(0, u64::saturating_add);
        if parts != self.requests {
            return Err(TallyRecordError::Sum { requests: self.requests, parts });
        }
        tally.requests = self.requests;
        tally.answered = self.answered;
        tally.failed_on_reused = self.failed_on_reused;
        tally.in_flight = self.in_flight;
        tally.answered_on_reused = self.answered_on_reused;
        tally.bytes_body = self.bytes_body;
        tally.statuses = self.statuses;
        tally.at_end = self.at_end;
        tally.bytes_in = self.bytes_in;
        tally.bytes_out = self.bytes_out;
        tally.connects = self.connects;
        tally.idle_ended = self.idle_ended;
        tally.never_ended = self.never_ended;
        for (histogram, times) in tally.histograms_mut().into_iter().zip(&self.histograms) {
            for RecordedTime { nanos, count } in times {
                histogram.record_n(*nanos, *count).map_err(|_| TallyRecordError::Time(*nanos))?;
            }
        }
        Ok(tally)
    }

    pub fn answered(&self) -> u64 {
        self.answered
    }

    pub fn requests(&self) -> u64 {
        self.requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tally::ResponseTimes;
    use proptest::prelude::*;
    use std::time::Duration;

    fn tally(times: &[u64]) -> LoadTally {
        let mut tally = LoadTally::new().unwrap();
        for nanos in times {
            let time = Duration::from_nanos(*nanos);
            tally.requests += 1;
            tally.record_response(
                200,
                None,
                ResponseTimes { latency: time, service: time, waiting: time },
                false,
            );
        }
        tally
    }

    proptest! {
        /// The merged reports of two machines equal one histogram of all values.
        #[test]
        fn merging_words_is_merging_histograms(
            ours in prop::collection::vec(1_u64..200_000_000_000, 0..60),
            theirs in prop::collection::vec(1_u64..200_000_000_000, 1..60),
        ) {
            let mut merged = TallyRecord::of(&tally(&ours)).to_tally().unwrap();
            let words = serde_json::to_string(&TallyRecord::of(&tally(&theirs))).unwrap();
            merged.merge(&serde_json::from_str::<TallyRecord>(&words).unwrap().to_tally().unwrap());
            let all = tally(&[ours, theirs].concat());
            prop_assert_eq!(TallyRecord::of(&merged), TallyRecord::of(&all));
            for quantile in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
                prop_assert_eq!(
                    merged.latency.value_at_quantile(quantile),
                    all.latency.value_at_quantile(quantile)
                );
            }
        }
    }

    #[test]
    fn words_that_do_not_add_up_are_refused() {
        let good = TallyRecord::of(&tally(&[5_000]));
        assert!(good.to_tally().is_ok());
        let sum = TallyRecord { requests: 7, ..good.clone() };
        assert!(matches!(sum.to_tally(), Err(TallyRecordError::Sum { requests: 7, parts: 1 })));
        let causes = TallyRecord { failed: vec![0; 3], ..good.clone() };
        assert!(matches!(causes.to_tally(), Err(TallyRecordError::Causes(3))));
        let mut time = good;
        time.histograms[0] = vec![RecordedTime { nanos: u64::MAX, count: 1 }];
        assert!(matches!(time.to_tally(), Err(TallyRecordError::Time(u64::MAX))));
    }
}
