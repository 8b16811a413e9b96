//! One thread's counts, and their sum.
//!
//! Latency is recorded of answered requests only; failed ones are counted by cause.

use std::time::Duration;

use hdrhistogram::CreationError;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::fail::FailureCause;

/// Durations of a response.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseTimes {
    /// From the intended start.
    pub latency: Duration,
    /// From when the request could be sent.
    pub service: Duration,
    /// From sending the request to the response's first byte.
    pub waiting: Duration,
}

/// Counts when the last request had started. Later responses belong to earlier requests, so rates must not include the
/// time after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadEndCounts {
    /// Nanoseconds since the start; 0: the number of requests was the limit, and the last response is the end.
    pub nanos: u64,
    /// Requests answered by then.
    pub answered: u64,
    /// Bytes received by then.
    pub bytes_in: u64,
    /// Bytes sent by then.
    pub bytes_out: u64,
    /// Open loop: starts that still waited for a connection.
    pub unsent: u64,
}

/// Counts since the start.
#[derive(Clone, Debug)]
pub struct LoadTally {
    /// Requests whose intended start has passed.
    pub requests: u64,
    /// Complete responses with a status below 500.
    pub answered: u64,
    pub failed: [u64; FailureCause::COUNT],
    /// Answered requests on a connection that had carried a response before.
    pub answered_on_reused: u64,
    /// Failed requests on a connection that had carried a response before.
    pub failed_on_reused: u64,
    /// Requests neither answered nor failed yet; counted by the engine, not derived.
    pub in_flight: u64,
    /// Complete responses by hundreds of the status; index 0: echoes.
    pub statuses: [u64; 6],
    pub bytes_in: u64,
    /// The part of `bytes_in` in response bodies.
    pub bytes_body: u64,
    pub bytes_out: u64,
    /// Counts at the end of request starts; `None`: requests still start.
    pub at_end: Option<LoadEndCounts>,
    pub connects: u64,
    /// Connections that the peer closed while no request was in flight.
    pub idle_ended: u64,
    /// Connections that the server should have closed but did not in time.
    pub never_ended: u64,
    /// Nanoseconds from the intended start to the complete response.
    pub latency: Histogram<u64>,
    /// Nanoseconds from when a request could be sent to its complete response; excludes the wait for a connection.
    pub service: Histogram<u64>,
    /// Nanoseconds to establish a connection, TLS included.
    pub connect: Histogram<u64>,
    /// Nanoseconds from sending a request to the first byte of its response.
    pub waiting: Histogram<u64>,
    /// Open loop: nanoseconds by which this program noticed a due start late.
    pub lag: Histogram<u64>,
}

impl LoadTally {
    pub fn new() -> Result<LoadTally, CreationError> {
        Ok(LoadTally {
            requests: 0,
            answered: 0,
            failed: [0; FailureCause::COUNT],
            answered_on_reused: 0,
            failed_on_reused: 0,
            in_flight: 0,
            statuses: [0; 6],
            bytes_in: 0,
            bytes_body: 0,
            bytes_out: 0,
            at_end: None,
            connects: 0,
            idle_ended: 0,
            never_ended: 0,
            latency: Histogram::new_with_bounds(SHORTEST_NANOS, LONGEST_NANOS, 3)?,
            service: Histogram::new_with_bounds(SHORTEST_NANOS, LONGEST_NANOS, 3)?,
            connect: Histogram::new_with_bounds(SHORTEST_NANOS, LONGEST_NANOS, 2)?,
            waiting: Histogram::new_with_bounds(SHORTEST_NANOS, LONGEST_NANOS, 2)?,
            lag: Histogram::new_with_bounds(SHORTEST_NANOS, LONGEST_NANOS, 2)?,
        })
    }

    /// Records a complete response; `wrong`: its mismatch with the expectation.
    pub fn record_response(
        &mut self,
        status: u16,
        wrong: Option<FailureCause>,
        times: ResponseTimes,
        reused: bool,
    ) {
        // Six classes: invalid codes below 100, 1xx to 5xx. Higher codes count as the last class.
        self.statuses[usize::from(status / 100).min(5)] += 1;
        match wrong {
            Some(fail) => self.record_failure(fail, reused),
            None => {
                self.answered += 1;
                self.answered_on_reused += u64::from(reused);
                self.latency.saturating_record(duration_nanos(times.latency));
                self.service.saturating_record(duration_nanos(times.service));
                self.waiting.saturating_record(duration_nanos(times.waiting));
            }
        }
    }

    pub fn record_failure(&mut self, fail: FailureCause, reused: bool) {
        self.failed[fail as usize] += 1;
        self.failed_on_reused += u64::from(reused);
    }

    /// Marks the end of request starts at this many nanoseconds after the start (0: the last request has started).
    /// Later counts do not change the end counts.
    pub fn record_end(&mut self, nanos: u64, unsent: u64) {
        if self.at_end.is_none() {
            self.at_end = Some(LoadEndCounts { nanos, unsent, ..self.end_counts() });
        }
    }

    /// The end counts, or the current counts before the end.
    fn end_counts(&self) -> LoadEndCounts {
        let LoadTally { answered, bytes_in, bytes_out, .. } = *self;
        self.at_end.unwrap_or(LoadEndCounts {
            answered,
            bytes_in,
            bytes_out,
            ..LoadEndCounts::default()
        })
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: &LoadTally) {
        if self.at_end.is_some() || other.at_end.is_some() {
            // A thread that failed before its end contributes the counts that it reported last.
            let ours = self.end_counts();
            let theirs = other.end_counts();
            self.at_end = Some(LoadEndCounts {
                nanos: ours.nanos.max(theirs.nanos),
                answered: ours.answered + theirs.answered,
                bytes_in: ours.bytes_in + theirs.bytes_in,
                bytes_out: ours.bytes_out + theirs.bytes_out,
                unsent: ours.unsent + theirs.unsent,
            });
        }
        self.answered_on_reused += other.answered_on_reused;
        self.bytes_body += other.bytes_body;
        self.requests += other.requests;
        self.answered += other.answered;
        self.failed.iter_mut().zip(other.failed).for_each(|(sum, n)| *sum += n);
        self.failed_on_reused += other.failed_on_reused;
        self.in_flight += other.in_flight;
        self.statuses.iter_mut().zip(other.statuses).for_each(|(sum, n)| *sum += n);
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.connects += other.connects;
        self.idle_ended += other.idle_ended;
        self.never_ended += other.never_ended;
        for (sum, other) in self.histograms_mut().into_iter().zip(other.histograms()) {
            // All histograms have the same bounds, so no value is out of range.
            let _ = sum.add(other);
        }
    }

    /// The counts since `earlier`, which must be an earlier state of the same tally. Requests in flight are not
    /// subtracted.
    pub fn since(&self, earlier: &LoadTally) -> LoadTally {
        let mut span = self.clone();
        span.at_end = None;
        span.answered_on_reused -= earlier.answered_on_reused;
        span.bytes_body -= earlier.bytes_body;
        span.requests -= earlier.requests;
        span.answered -= earlier.answered;
        span.failed.iter_mut().zip(earlier.failed).for_each(|(left, n)| *left -= n);
        span.failed_on_reused -= earlier.failed_on_reused;
        span.statuses.iter_mut().zip(earlier.statuses).for_each(|(left, n)| *left -= n);
        span.bytes_in -= earlier.bytes_in;
        span.bytes_out -= earlier.bytes_out;
        span.connects -= earlier.connects;
        span.idle_ended -= earlier.idle_ended;
        span.never_ended -= earlier.never_ended;
        for (left, earlier) in span.histograms_mut().into_iter().zip(earlier.histograms()) {
            // Fails only for histograms of different ranges; all have the same.
            let _ = left.subtract(earlier);
        }
        span
    }

    /// All histograms, always in this order.
    pub(super) fn histograms(&self) -> [&Histogram<u64>; 5] {
        [&self.latency, &self.service, &self.connect, &self.waiting, &self.lag]
    }

    pub(super) fn histograms_mut(&mut self) -> [&mut Histogram<u64>; 5] {
        [&mut self.latency, &mut self.service, &mut self.connect, &mut self.waiting, &mut self.lag]
    }
}

pub fn duration_nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Shorter times are not distinguished.
/// So short a time is partly that of reading the clock.
const SHORTEST_NANOS: u64 = 128;
/// Longer times are recorded as this value.
/// Far above every time limit of a request.
const LONGEST_NANOS: u64 = 200_000_000_000;
