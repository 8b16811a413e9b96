//! One thread's counts, and their sum.
//!
//! Latency is recorded of answered requests only; failed ones are in the counts by cause.

use std::time::Duration;

use hdrhistogram::CreationError;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::fail::FailureCause;

/// How long an answer took.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseTimes {
    /// From the intended start.
    pub latency: Duration,
    /// From when it could be sent.
    pub service: Duration,
    /// From when it was sent to the answer's first byte.
    pub waiting: Duration,
}

/// How it stood when the last request had begun: what comes later answers what was asked before, in no time of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadEndCounts {
    /// Nanoseconds since the start; 0: the number of requests was the limit, and the last answer is the end.
    pub nanos: u64,
    /// Requests answered until then.
    pub answered: u64,
    /// Bytes received until then.
    pub bytes_in: u64,
    /// Bytes sent until then.
    pub bytes_out: u64,
    /// Open loop: starts that still waited for a connection.
    pub unsent: u64,
}

/// Counts since the start.
#[derive(Clone, Debug)]
pub struct LoadTally {
    /// Requests whose intended start has come.
    pub requests: u64,
    /// Of those, answered whole with a status below 500.
    pub answered: u64,
    pub failed: [u64; FailureCause::COUNT],
    /// Of the answered, how many on a connection that had answered before.
    pub answered_on_reused: u64,
    /// Of the failed, how many were sent on a connection that had answered before.
    pub failed_on_reused: u64,
    /// Neither answered nor failed yet; counted where requests are kept, not derived.
    pub in_flight: u64,
    /// Whole answers by hundreds of the status; index 0: echoes.
    pub statuses: [u64; 6],
    pub bytes_in: u64,
    /// Of those, of answers' bodies.
    pub bytes_body: u64,
    pub bytes_out: u64,
    /// How it stood when no request was to begin any more; `None`: some are.
    pub at_end: Option<LoadEndCounts>,
    pub connects: u64,
    /// Connections that the peer ended while nothing was asked on them.
    pub idle_ended: u64,
    /// Connections whose end was the server's task and did not come in time.
    pub never_ended: u64,
    /// Nanoseconds from intended start to whole answer.
    pub latency: Histogram<u64>,
    /// Nanoseconds from when a request could be sent to its whole answer: blind to waiting for a connection.
    pub service: Histogram<u64>,
    /// Nanoseconds to establish a connection, TLS included.
    pub connect: Histogram<u64>,
    /// Nanoseconds from when a request was sent to the first byte of its answer.
    pub waiting: Histogram<u64>,
    /// Open loop: nanoseconds by which this program noticed a start too late.
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

    /// A whole answer; `wrong`: not what was expected.
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

    /// No request is to begin any more, so many nanoseconds after the start (0: the last has begun); what is told later counts
    /// no more for it.
    pub fn record_end(&mut self, nanos: u64, unsent: u64) {
        if self.at_end.is_none() {
            self.at_end = Some(LoadEndCounts { nanos, unsent, ..self.end_counts() });
        }
    }

    /// How it stands, or stood at the end.
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
            // Whoever was lost before the end has told all that it will.
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
            // Same bounds on both sides, so that nothing can be out of range.
            let _ = sum.add(other);
        }
    }

    /// What was counted after `earlier`, which must be an earlier state of the same tally. What is in flight stays.
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

    /// All of them, always in this order.
    pub(super) fn histograms(&self) -> [&Histogram<u64>; 5] {
        [&self.latency, &self.service, &self.connect, &self.waiting, &self.lag]
    }

    /// The same, to be changed.
    pub(super) fn histograms_mut(&mut self) -> [&mut Histogram<u64>; 5] {
        [&mut self.latency, &mut self.service, &mut self.connect, &mut self.waiting, &mut self.lag]
    }
}

pub fn duration_nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Shorter times are not told apart.
const SHORTEST_NANOS: u64 = 128;
/// Longer times are recorded as this.
const LONGEST_NANOS: u64 = 200_000_000_000;
