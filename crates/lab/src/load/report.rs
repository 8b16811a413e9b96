//! The figures of a run, live or final, as data for tables and JSON.
//!
//! It draws no tables and does not assess the figures.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::counts::{TallyRecord, TallyRecordError};
use super::fail::FailureCause;
use super::tally::LoadTally;

/// Figures of a run so far. `requests = answered + failed + in_flight` always holds.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    /// Seconds since the start, or of the measured span.
    pub seconds: f64,
    /// The part of `seconds` in which requests started; rates refer to it.
    pub asked_seconds: f64,
    /// Requests whose intended start has passed.
    pub requests: u64,
    /// Complete responses with a status below 500.
    pub answered: u64,
    /// Failed requests of all causes.
    pub failed: u64,
    /// Failed requests by cause; causes that did not occur are absent.
    pub failed_by_cause: BTreeMap<&'static str, u64>,
    /// Answered requests on a connection that had carried a response before.
    pub answered_on_reused: u64,
    /// Failed requests on a connection that had carried a response before.
    pub failed_on_reused: u64,
    /// Requests neither answered nor failed yet.
    pub in_flight: u64,
    /// Answered requests a second, during `asked_seconds`.
    pub answered_per_second: f64,
    /// Bits received a second, during `asked_seconds`.
    pub received_per_second: f64,
    /// Bits sent a second, during `asked_seconds`.
    pub sent_per_second: f64,
    /// Open loop: starts still waiting for a connection when the last start was due.
    pub unsent_at_end: u64,
    /// Time from the intended start to the complete response, of answered requests.
    pub latency: LatencySummary,
    /// Time from when a request could be sent to its complete response; excludes the wait for a connection.
    pub service: LatencySummary,
    /// Time to establish a connection, TLS included.
    pub connect: LatencySummary,
    /// Time from sending a request to the first byte of its response.
    pub waiting: LatencySummary,
    /// Open loop: how late this program noticed that a start was due.
    pub lag: LatencySummary,
    /// Complete responses by hundreds of the status; index 0: echoes.
    pub statuses: [u64; 6],
    pub bytes_in: u64,
    /// The part of `bytes_in` in response bodies.
    pub bytes_body: u64,
    pub bytes_out: u64,
    pub connects: u64,
    /// Connections that the peer closed while no request was in flight.
    pub idle_ended: u64,
    /// Connections that the server should have closed but did not in time.
    pub never_ended: u64,
    /// Threads of the generator that failed; unless 0, the figures are incomplete.
    pub broken_threads: usize,
    #[serde(skip)]
    tally: LoadTally,
}

/// A bucket of a latency histogram. In JSON it is a list of bound and count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(f64, u64)", into = "(f64, u64)")]
pub struct LatencyBucket {
    /// The bucket's upper bound, microseconds.
    pub upper_us: f64,
    /// Responses in the bucket.
    pub count: u64,
}

impl From<(f64, u64)> for LatencyBucket {
    fn from((upper_us, count): (f64, u64)) -> LatencyBucket {
        LatencyBucket { upper_us, count }
    }
}

impl From<LatencyBucket> for (f64, u64) {
    fn from(LatencyBucket { upper_us, count }: LatencyBucket) -> (f64, u64) {
        (upper_us, count)
    }
}

/// Percentiles in microseconds; all 0 without an answered request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Number of values.
    pub count: u64,
    pub min_us: f64,
    pub mean_us: f64,
    pub sd_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    pub max_us: f64,
}

impl LoadReport {
    /// The report of a tally after `span`.
    pub(super) fn new(tally: LoadTally, span: Duration, broken_threads: usize) -> LoadReport {
        let seconds = span.as_secs_f64();
        let whole = (seconds, tally.answered, tally.bytes_in, tally.bytes_out);
        let (asked_seconds, answered, bytes_in, bytes_out) = match tally.at_end {
            Some(end) if end.nanos > 0 => {
                (end.nanos as f64 / 1e9, end.answered, end.bytes_in, end.bytes_out)
            }
            _ => whole,
        };
        let each = |n: u64| if asked_seconds > 0.0 { n as f64 / asked_seconds } else { 0.0 };
        let causes =
            FailureCause::ALL.iter().map(|fail| (fail.name(), tally.failed[*fail as usize]));
        LoadReport {
            seconds,
            asked_seconds,
            requests: tally.requests,
            answered: tally.answered,
            failed: tally.failed.iter().sum(),
            failed_by_cause: causes.filter(|(_, count)| *count > 0).collect(),
            answered_on_reused: tally.answered_on_reused,
            failed_on_reused: tally.failed_on_reused,
            in_flight: tally.in_flight,
            answered_per_second: each(answered),
            received_per_second: each(bytes_in) * 8.0,
            sent_per_second: each(bytes_out) * 8.0,
            unsent_at_end: tally.at_end.map_or(0, |end| end.unsent),
            latency: LatencySummary::of(&tally.latency),
            service: LatencySummary::of(&tally.service),
            connect: LatencySummary::of(&tally.connect),
            waiting: LatencySummary::of(&tally.waiting),
            lag: LatencySummary::of(&tally.lag),
            statuses: tally.statuses,
            bytes_in: tally.bytes_in,
            bytes_body: tally.bytes_body,
            bytes_out: tally.bytes_out,
            connects: tally.connects,
            idle_ended: tally.idle_ended,
            never_ended: tally.never_ended,
            broken_threads,
            tally,
        }
    }

    /// The counts in the form that is sent to another machine.
    pub fn counts(&self) -> TallyRecord {
        TallyRecord::of(&self.tally)
    }

    /// Merges the counts of several machines during `span`.
    ///
    /// # Errors
    /// The counts of one machine are invalid.
    pub fn merge_counts<'a>(
        all: impl IntoIterator<Item = &'a TallyRecord>,
        span: Duration,
        broken_threads: usize,
    ) -> Result<LoadReport, TallyRecordError> {
        let mut sum = LoadTally::new()?;
        for counts in all {
            sum.merge(&counts.to_tally()?);
        }
        Ok(LoadReport::new(sum, span, broken_threads))
    }

    /// The figures between `earlier`, a report of the same run, and this report.
    pub fn since(&self, earlier: &LoadReport) -> LoadReport {
        let span = Duration::from_secs_f64((self.seconds - earlier.seconds).max(0.0));
        LoadReport::new(self.tally.since(&earlier.tally), span, self.broken_threads)
    }

    /// Histogram of the latency of answered requests.
    pub fn histogram(&self) -> Vec<LatencyBucket> {
        let entry = |value: hdrhistogram::iterators::IterationValue<u64>| LatencyBucket {
            upper_us: value.value_iterated_to() as f64 / 1e3,
            count: value.count_at_value(),
        };
        self.tally.latency.iter_recorded().map(entry).collect()
    }

    /// Latency at a quantile from 0 to 1, in microseconds.
    pub fn latency_us(&self, quantile: f64) -> f64 {
        self.tally.latency.value_at_quantile(quantile) as f64 / 1e3
    }

    /// Answered requests slower than `micros` microseconds.
    pub fn slower_than(&self, micros: f64) -> u64 {
        let nanos = (micros * 1e3) as u64;
        self.tally.latency.len() - self.tally.latency.count_between(0, nanos.max(1))
    }

    /// Failed requests with this cause.
    pub fn count(&self, fail: FailureCause) -> u64 {
        self.tally.failed[fail as usize]
    }
}

impl LatencySummary {
    fn of(histogram: &Histogram<u64>) -> LatencySummary {
        if histogram.is_empty() {
            return LatencySummary::default();
        }
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        LatencySummary {
            count: histogram.len(),
            min_us: histogram.min() as f64 / 1e3,
            mean_us: histogram.mean() / 1e3,
            sd_us: histogram.stdev() / 1e3,
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max() as f64 / 1e3,
        }
    }
}
