//! The outcome of requests, and what their streams do next.
//!
//! It neither sends nor reads.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use super::LoadEngine;
use super::slot::{ConnectionPhase, FreedStream, StreamSlot, TimerAction};
use crate::load::action::SocketAction;
use crate::load::fail::FailureCause;
use crate::load::plan::{ClosingSide, ConnectionReuse, LoadModel};
use crate::load::response::{ResponseProgress, StreamProgress};
use crate::load::tally::ResponseTimes;

impl LoadEngine {
    /// Handles the results of the connection's requests. Then the connection and its free streams continue.
    pub(super) fn settle_connection(&mut self, slot: usize, now: MonotonicTime) {
        let mut settled = std::mem::take(&mut self.settled);
        for StreamProgress { stream, progress } in settled.drain(..) {
            let lane = StreamSlot { slot, stream };
            match progress {
                ResponseProgress::NeedMore => {}
                ResponseProgress::Failed(fail) => self.record_failure(lane, fail),
                ResponseProgress::Unprocessed => {
                    let chosen = &mut self.slots[slot];
                    if let Some(request) = &mut chosen.pending[stream] {
                        request.sent_at = None;
                        chosen
                            .client
                            .resend_request(stream, self.plan.protocol.request_templates());
                    }
                }
                ResponseProgress::Complete { status, reusable } => {
                    self.record_response(lane, status, reusable, now);
                }
            }
        }
        self.settled = settled;
        self.continue_connection(slot, now);
    }

    /// One request has failed; the others on its connection continue.
    pub(super) fn fail_request(
        &mut self,
        lane: StreamSlot,
        fail: FailureCause,
        now: MonotonicTime,
    ) {
        let chosen = &mut self.slots[lane.slot];
        if chosen.pending[lane.stream]
            .is_some_and(|request| request.sent_at > Some(chosen.last_received))
        {
            // No byte has arrived since this request was sent, so the connection may be dead.
            chosen.client.stop_reusing();
        }
        self.record_failure(lane, fail);
        self.continue_connection(lane.slot, now);
    }

    /// The connection has failed with all its requests.
    pub(super) fn fail_all(&mut self, slot: usize, fail: FailureCause, now: MonotonicTime) {
        for stream in 0..self.slots[slot].pending.len() {
            self.record_failure(StreamSlot { slot, stream }, fail);
        }
        self.close(slot);
        self.continue_connection(slot, now);
    }

    fn record_response(
        &mut self,
        lane: StreamSlot,
        status: u16,
        reusable: bool,
        now: MonotonicTime,
    ) {
        let StreamSlot { slot, stream } = lane;
        let chosen = &mut self.slots[slot];
        let Some(request) = chosen.pending[stream].take() else { return };
        self.tally.in_flight -= 1;
        let which = chosen.client.request_kind(stream);
        let body = chosen.client.body(stream);
        let wrong = self.plan.protocol.check_response(which, status, body.bytes, body.has_text);
        self.tally.bytes_body += body.bytes;
        let first = request.first_byte.unwrap_or(now);
        let times = ResponseTimes {
            latency: now.since(request.intended),
            service: now.since(request.ready),
            waiting: first.since(request.sent_at.unwrap_or(request.ready)),
        };
        self.tally.record_response(status, wrong, times, chosen.responses > 0);
        chosen.responses += 1;
        if self.plan.persist == ConnectionReuse::ClosedBy(ClosingSide::Server)
            && chosen.phase == ConnectionPhase::Ready
        {
            chosen.close_deadline = Some(request.deadline);
            return self.actions.push_back(SocketAction::Read(slot));
        }
        if !reusable || self.plan.persist.is_single() {
            self.close(slot);
        }
        self.freed.push(FreedStream { lane, pause: self.think_time(lane) });
    }

    fn record_failure(&mut self, lane: StreamSlot, fail: FailureCause) {
        let StreamSlot { slot, stream } = lane;
        let chosen = &mut self.slots[slot];
        let reused = chosen.responses > 0;
        let goes_on = chosen.client.abandon_request(stream);
        let request = chosen.pending[stream].take().is_some();
        if !goes_on {
            self.close(slot);
        }
        if request {
            self.tally.in_flight -= 1;
            self.tally.record_failure(fail, reused);
            self.freed.push(FreedStream { lane, pause: PAUSE_AFTER_FAILURE });
        }
    }

    /// Sends the connection's pending bytes and replaces a finished connection where requests wait for another. Then
    /// chooses the next requests for free streams.
    pub(super) fn continue_connection(&mut self, slot: usize, now: MonotonicTime) {
        let chosen = &self.slots[slot];
        if !chosen.client.pending().is_empty() {
            self.actions.push_back(SocketAction::Flush(slot));
        }
        if chosen.phase == ConnectionPhase::Ready && chosen.client.is_finished() {
            self.close(slot);
            if self.slots[slot].has_request() {
                self.connect(slot, now);
            }
        }
        let mut freed = std::mem::take(&mut self.freed);
        for FreedStream { lane, pause } in freed.drain(..) {
            self.free_stream(lane, pause, now);
        }
        self.freed = freed;
    }

    /// The think time of the last request's kind.
    pub(super) fn think_time(&self, StreamSlot { slot, stream }: StreamSlot) -> Duration {
        let shot = self
            .plan
            .protocol
            .request_templates()
            .get(self.slots[slot].client.request_kind(stream));
        shot.map_or(Duration::ZERO, |shot| shot.think)
    }

    /// Chooses the next request for a free stream.
    pub(super) fn free_stream(&mut self, lane: StreamSlot, pause: Duration, now: MonotonicTime) {
        match self.plan.pace {
            LoadModel::Closed { think, .. } if think.max(pause).is_zero() => {
                self.begin_next(lane, now);
            }
            LoadModel::Closed { think, .. } => {
                self.add_timer(now + think.max(pause), lane, TimerAction::StartRequest)
            }
            LoadModel::Open { .. } => match self.backlog.pop_front() {
                Some(intended) => self.send_request(lane, intended, now),
                None => self.idle.push_back(lane),
            },
        }
    }
}

/// Closed loop: the pause of a stream after a failed request, so that a dead target is not flooded.
/// A hundred attempts a second for each stream.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(10);
