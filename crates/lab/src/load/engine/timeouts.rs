//! Finds the next deadline and handles expired ones. It starts no request.

use std::cmp::Reverse;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use super::LoadEngine;
use super::slot::{ConnectionPhase, StreamSlot};
use crate::load::fail::FailureCause;

impl LoadEngine {
    /// The latest time at which `run_due` must be called next.
    pub fn next_deadline(&self) -> MonotonicTime {
        let wake = self.wakes.peek().map_or(MonotonicTime::NEVER, |Reverse(wake)| wake.due);
        let start = match &self.schedule {
            Some(schedule) if self.may_start() => schedule.next(),
            _ => MonotonicTime::NEVER,
        };
        let ends = if self.may_start() { self.ends } else { self.gives_up };
        wake.min(start).min(ends).min(self.sweep)
    }

    /// Fails requests whose deadline has passed and closes connections whose server did not close in time.
    pub(super) fn expire_timeouts(&mut self, now: MonotonicTime) {
        for slot in 0..self.slots.len() {
            let chosen = &self.slots[slot];
            if chosen.close_deadline.is_some_and(|until| until <= now) {
                self.slots[slot].close_deadline = None;
                // The response has already been counted. Only this deadline shows that its server has not closed.
                self.tally.never_ended += 1;
                self.close(slot);
                self.free_stream(StreamSlot { slot, stream: 0 }, Duration::ZERO, now);
            }
            for stream in 0..self.slots[slot].pending.len() {
                self.expire_request(StreamSlot { slot, stream }, now);
            }
        }
        while self.backlog.front().is_some_and(|intended| *intended + self.plan.timeout <= now) {
            self.backlog.pop_front();
            self.fail_unsent();
        }
    }

    fn expire_request(&mut self, lane: StreamSlot, now: MonotonicTime) {
        let chosen = &self.slots[lane.slot];
        if chosen.pending[lane.stream].is_none_or(|request| request.deadline > now) {
            return;
        }
        if chosen.phase == ConnectionPhase::Connecting {
            return self.fail_all(lane.slot, FailureCause::ConnectTimeout, now);
        }
        self.fail_request(lane, FailureCause::Timeout, now);
    }

    /// A queued start found no connection in time.
    pub(super) fn fail_unsent(&mut self) {
        self.tally.in_flight -= 1;
        self.tally.record_failure(FailureCause::NotSent, false);
    }
}
