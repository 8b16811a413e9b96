//! When something is due, and what has taken too long. It begins nothing.

use std::cmp::Reverse;
use std::time::Duration;

use model::moment::Moment;

use super::Engine;
use super::slot::{Lane, Phase};
use crate::load::fail::Fail;

impl Engine {
    /// When `tick` must be called next at the latest.
    pub fn next_due(&self) -> Moment {
        let wake = self.wakes.peek().map_or(Moment::NEVER, |Reverse(wake)| wake.at);
        let start = match &self.schedule {
            Some(schedule) if self.is_asking() => schedule.next(),
            _ => Moment::NEVER,
        };
        let ends = if self.is_asking() { self.ends } else { self.gives_up };
        wake.min(start).min(ends).min(self.sweep)
    }

    /// Ends what took too long.
    pub(super) fn expire(&mut self, now: Moment) {
        for slot in 0..self.slots.len() {
            let chosen = &self.slots[slot];
            if chosen.parting.is_some_and(|until| until <= now) {
                self.slots[slot].parting = None;
                // The answer was counted; that its server does not end the connection is told by its age alone.
                self.tally.never_ended += 1;
                self.close(slot);
                self.free((slot, 0), Duration::ZERO, now);
            }
            for stream in 0..self.slots[slot].asked.len() {
                self.expire_request((slot, stream), now);
            }
        }
        while self.backlog.front().is_some_and(|intended| *intended + self.plan.timeout <= now) {
            self.backlog.pop_front();
            self.not_sent();
        }
    }

    fn expire_request(&mut self, lane: Lane, now: Moment) {
        let chosen = &self.slots[lane.0];
        if chosen.asked[lane.1].is_none_or(|asked| asked.deadline > now) {
            return;
        }
        if chosen.phase == Phase::Connecting {
            return self.fail_all(lane.0, Fail::ConnectTimeout, now);
        }
        self.fail(lane, Fail::Timeout, now);
    }

    /// It found no connection in time.
    pub(super) fn not_sent(&mut self) {
        self.tally.in_flight -= 1;
        self.tally.fail(Fail::NotSent, false);
    }
}
