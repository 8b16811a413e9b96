//! What became of requests: answered, failed, and what their places do next.
//!
//! It neither sends nor reads.

use std::time::Duration;

use model::moment::Moment;

use super::Engine;
use super::slot::{Lane, Phase, What};
use crate::load::action::Action;
use crate::load::answer::Progress;
use crate::load::fail::Fail;
use crate::load::plan::{Closer, Pace, Persist};
use crate::load::tally::Times;

impl Engine {
    /// Takes what came of the connection's requests; then it, and the places that are free, go on.
    pub(super) fn settle(&mut self, slot: usize, now: Moment) {
        let mut settled = std::mem::take(&mut self.settled);
        for (stream, progress) in settled.drain(..) {
            match progress {
                Progress::More => {}
                Progress::Failed(fail) => self.failed((slot, stream), fail),
                Progress::Unprocessed => {
                    let chosen = &mut self.slots[slot];
                    if let Some(asked) = &mut chosen.asked[stream] {
                        asked.sent = None;
                        chosen.client.ask_again(stream, self.plan.protocol.shots());
                    }
                }
                Progress::Whole { status, reusable } => {
                    self.answered((slot, stream), (status, reusable), now);
                }
            }
        }
        self.settled = settled;
        self.go_on(slot, now);
    }

    /// One request has failed; those beside it on its connection go on.
    pub(super) fn fail(&mut self, lane: Lane, fail: Fail, now: Moment) {
        let chosen = &mut self.slots[lane.0];
        if chosen.asked[lane.1].is_some_and(|asked| asked.sent > Some(chosen.heard)) {
            // Not a byte came for as long as this was waited for.
            chosen.client.leave();
        }
        self.failed(lane, fail);
        self.go_on(lane.0, now);
    }

    /// The connection has failed, with everything on it.
    pub(super) fn fail_all(&mut self, slot: usize, fail: Fail, now: Moment) {
        for stream in 0..self.slots[slot].asked.len() {
            self.failed((slot, stream), fail);
        }
        self.close(slot);
        self.go_on(slot, now);
    }

    fn answered(
        &mut self,
        lane @ (slot, stream): Lane,
        (status, reusable): (u16, bool),
        now: Moment,
    ) {
        let chosen = &mut self.slots[slot];
        let Some(asked) = chosen.asked[stream].take() else { return };
        self.tally.in_flight -= 1;
        let (which, body) = (chosen.client.which(stream), chosen.client.body(stream));
        let wrong = self.plan.protocol.judge(which, status, body);
        self.tally.bytes_body += body.0;
        let first = asked.first.unwrap_or(now);
        let times = Times {
            latency: now.since(asked.intended),
            service: now.since(asked.ready),
            waiting: first.since(asked.sent.unwrap_or(asked.ready)),
        };
        self.tally.answer(status, wrong, times, chosen.answers > 0);
        chosen.answers += 1;
        if self.plan.persist == Persist::ClosedBy(Closer::Server) && chosen.phase == Phase::Ready {
            chosen.parting = Some(asked.deadline);
            return self.actions.push_back(Action::Read(slot));
        }
        if !reusable || self.plan.persist.is_single() {
            self.close(slot);
        }
        self.freed.push((lane, self.think(lane)));
    }

    fn failed(&mut self, lane @ (slot, stream): Lane, fail: Fail) {
        let chosen = &mut self.slots[slot];
        let reused = chosen.answers > 0;
        let goes_on = chosen.client.abandon(stream);
        let asked = chosen.asked[stream].take().is_some();
        if !goes_on {
            self.close(slot);
        }
        if asked {
            self.tally.in_flight -= 1;
            self.tally.fail(fail, reused);
            self.freed.push((lane, PAUSE_AFTER_FAILURE));
        }
    }

    /// What the connection has to send goes out; one that is over is replaced where requests wait for another; then the
    /// next requests are found for what is free.
    pub(super) fn go_on(&mut self, slot: usize, now: Moment) {
        let chosen = &self.slots[slot];
        if !chosen.client.pending().is_empty() {
            self.actions.push_back(Action::Flush(slot));
        }
        if chosen.phase == Phase::Ready && chosen.client.is_over() {
            self.close(slot);
            if self.slots[slot].is_asked() {
                self.connect(slot, now);
            }
        }
        let mut freed = std::mem::take(&mut self.freed);
        for (lane, pause) in freed.drain(..) {
            self.free(lane, pause, now);
        }
        self.freed = freed;
    }

    /// The pause that the kind of request asks for which was asked last.
    pub(super) fn think(&self, (slot, stream): Lane) -> Duration {
        let shot = self.plan.protocol.shots().get(self.slots[slot].client.which(stream));
        shot.map_or(Duration::ZERO, |shot| shot.think)
    }

    /// The place has nothing to do: the next request is found for it.
    pub(super) fn free(&mut self, lane: Lane, pause: Duration, now: Moment) {
        match self.plan.pace {
            Pace::Closed { think, .. } if think.max(pause).is_zero() => {
                self.begin_closed(lane, now);
            }
            Pace::Closed { think, .. } => self.wake(now + think.max(pause), lane, What::Ask),
            Pace::Open { .. } => match self.backlog.pop_front() {
                Some(intended) => self.ask(lane, intended, now),
                None => self.idle.push_back(lane),
            },
        }
    }
}

/// Closed loop: a place whose request failed rests so long, so that a dead target is not hammered.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(10);
