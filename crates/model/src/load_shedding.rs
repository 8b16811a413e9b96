//! When a queue is shed: its waiting time stands above a target, which more waiting cannot mend.
//!
//! After CoDel (RFC 8289): a burst makes a queue that drains within an interval, overload one that does not. So what is
//! looked at is the least that the longest wait came down to within an interval, not the most. Where CoDel drops packet
//! after packet until senders slow down, clients of a balancer do not: here the queue is held to what its servers take
//! within the target, by what they took in the interval before (Little's law).
//!
//! It reads no clock and knows nobody who waits; its owner asks whenever somebody came or left.

use std::time::Duration;

use crate::config::LoadSheddingConfig;
use crate::monotonic_time::MonotonicTime;

/// What is known of one queue.
#[derive(Debug, Default)]
pub struct LoadShedder {
    /// Of the interval that runs: when it began; `None`: nothing was seen yet.
    interval_start: Option<MonotonicTime>,
    /// The least that the longest wait came down to in it.
    min_wait: Duration,
    /// How many went on to a server in it.
    served_count: u32,
    /// How many were shed in it.
    shed_count: u32,
    /// How many may wait; `None`: nothing is shed.
    limit: Option<usize>,
}

impl LoadShedder {
    /// One went on to a server.
    pub fn record_served(&mut self) {
        self.served_count = self.served_count.saturating_add(1);
    }

    pub fn record_shed(&mut self) {
        self.shed_count = self.shed_count.saturating_add(1);
    }

    /// How many may wait now, after somebody came or left; `None`: as many as otherwise. `oldest`: since when the one waits
    /// who waits longest; `None`: nobody does.
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

    /// What an interval that is over says of the next one.
    fn evaluate_interval(&self, terms: &LoadSheddingConfig, lasted: Duration) -> Option<usize> {
        let stands = self.min_wait > terms.target;
        // While it is held to its room its waits are at the target: only that nothing was in excess ends it.
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
