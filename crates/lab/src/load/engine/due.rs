//! When something is due, and what has taken too long. It begins nothing.

use std::cmp::Reverse;
use std::time::Duration;

use model::moment::Moment;

use super::Engine;
use super::slot::Phase;
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
                // The answer was counted; that its server does not end the connection is told by its age alone.
                self.tally.never_ended += 1;
                self.close(slot);
                self.free(slot, Duration::ZERO, now);
            } else if chosen.asked.is_some_and(|asked| asked.deadline <= now) {
                let connecting = chosen.phase == Phase::Connecting;
                self.fail(slot, if connecting { Fail::ConnectTimeout } else { Fail::Timeout }, now);
            }
        }
        while self.backlog.front().is_some_and(|intended| *intended + self.plan.timeout <= now) {
            self.backlog.pop_front();
            self.not_sent();
        }
    }

    /// It found no connection in time.
    pub(super) fn not_sent(&mut self) {
        self.tally.in_flight -= 1;
        self.tally.fail(Fail::NotSent, false);
    }
}
