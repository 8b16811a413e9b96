//! Load shedding: when the waiting time of a queue stays above its target, and waiting longer cannot help.
//!
//! After CoDel (RFC 8289): a burst makes a queue that drains within an interval, overload one that does not. So the
//! minimum of the longest wait within an interval decides, not the maximum. CoDel drops packet after packet until
//! senders slow down, but clients of a balancer do not. Here the queue is limited to what its servers process within
//! the target, at the rate of the interval before (Little's law).
//!
//! It reads no clock and stores no request; the owner of the queue calls it whenever a request arrives or leaves.

use std::time::Duration;

use crate::config::LoadSheddingConfig;
use crate::monotonic_time::MonotonicTime;

/// The load shedding state of one queue.
#[derive(Debug, Default)]
pub struct LoadShedder {
    /// Start of the running interval; `None`: no request yet.
    interval_start: Option<MonotonicTime>,
    /// The minimum of the longest wait in the interval.
    min_wait: Duration,
    /// Requests that were sent to a server in the interval.
    served_count: u32,
    /// Requests that were shed in the interval.
    shed_count: u32,
    /// Limit for queued requests; `None`: nothing is shed.
    limit: Option<usize>,
}

impl LoadShedder {
    /// A request was sent to a server.
    pub fn record_served(&mut self) {
        self.served_count = self.served_count.saturating_add(1);
    }

    pub fn record_shed(&mut self) {
        self.shed_count = self.shed_count.saturating_add(1);
    }

    /// The limit for queued requests after one arrived or left; `None`: no limit by load shedding. `oldest`: since when
    /// the longest waiting request waits; `None`: the queue is empty.
    pub fn queue_limit(
        &mut self,
        terms: &LoadSheddingConfig,
        now: MonotonicTime,
        oldest: Option<MonotonicTime>,
    ) -> Option<usize> {
        let wait = oldest.map_or(Duration::ZERO, |since| now.since(since));
        let Some(begun) = self.interval_start else {
            self.interval_start = Some(now);
            self.min_wait = wait;
            return self.limit;
        };
        self.min_wait = self.min_wait.min(wait);
        if now >= begun + terms.interval {
            self.limit = self.evaluate_interval(terms, now.since(begun));
            self.interval_start = Some(now);
            self.min_wait = wait;
            self.served_count = 0;
            self.shed_count = 0;
        }
        self.limit
    }

    /// The limit for the next interval, from the ended one.
    fn evaluate_interval(&self, terms: &LoadSheddingConfig, lasted: Duration) -> Option<usize> {
        let stands = self.min_wait > terms.target;
        // While the queue is limited its waits are at the target; only an interval without shedding ends that.
        let goes_on = self.limit.is_some() && self.shed_count > 0;
        (stands || goes_on).then(|| {
            let within =
                f64::from(self.served_count) * terms.target.as_secs_f64() / lasted.as_secs_f64();
            (within as usize).max(1)
        })
    }
}

#[cfg(test)]
mod tests;
