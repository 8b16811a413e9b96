//! When a queue is shed: its waiting time stands above a target, which more waiting cannot mend.
//!
//! After CoDel (RFC 8289): a burst makes a queue that drains within an interval, overload one that does not. So what is
//! looked at is the least that the longest wait came down to within an interval, not the most. Where CoDel drops packet
//! after packet until senders slow down, clients of a balancer do not: here the queue is held to what its servers take
//! within the target, by what they took in the interval before (Little's law).
//!
//! It reads no clock and knows nobody who waits; its owner asks whenever somebody came or left.

use std::time::Duration;

use crate::config::ShedTerms;
use crate::moment::Moment;

/// What is known of one queue.
#[derive(Debug, Default)]
pub struct Shed {
    /// Of the interval that runs: when it began; `None`: nothing was seen yet.
    begun: Option<Moment>,
    /// The least that the longest wait came down to in it.
    least: Duration,
    /// How many went on to a server in it.
    served: u32,
    /// How many were shed in it.
    shed: u32,
    /// How many may wait; `None`: nothing is shed.
    room: Option<usize>,
}

impl Shed {
    /// One went on to a server.
    pub fn served(&mut self) {
        self.served = self.served.saturating_add(1);
    }

    /// One was shed.
    pub fn shed(&mut self) {
        self.shed = self.shed.saturating_add(1);
    }

    /// How many may wait now, after somebody came or left; `None`: as many as otherwise. `oldest`: since when the one waits
    /// who waits longest; `None`: nobody does.
    pub fn room(
        &mut self,
        terms: &ShedTerms,
        now: Moment,
        oldest: Option<Moment>,
    ) -> Option<usize> {
        let wait = oldest.map_or(Duration::ZERO, |since| now.since(since));
        let Some(begun) = self.begun else {
            (self.begun, self.least) = (Some(now), wait);
            return self.room;
        };
        self.least = self.least.min(wait);
        if now >= begun + terms.interval {
            self.room = self.judge(terms, now.since(begun));
            (self.begun, self.least, self.served, self.shed) = (Some(now), wait, 0, 0);
        }
        self.room
    }

    /// What an interval that is over says of the next one.
    fn judge(&self, terms: &ShedTerms, lasted: Duration) -> Option<usize> {
        let stands = self.least > terms.target;
        // While it is held to its room its waits are at the target: only that nothing was in excess ends it.
        let goes_on = self.room.is_some() && self.shed > 0;
        (stands || goes_on).then(|| {
            let within = f64::from(self.served) * terms.target.as_secs_f64() / lasted.as_secs_f64();
            (within as usize).max(1)
        })
    }
}

#[cfg(test)]
mod tests;
