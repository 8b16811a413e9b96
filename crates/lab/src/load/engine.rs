//! One thread's load without its sockets: when each connection sends, and the outcome of each request.
//!
//! It receives the time and the results of system calls and returns actions, so it also runs under virtual time. It
//! never repeats a failed request.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use super::action::SocketAction;
use super::client::{LoadClient, PeerClose};
use super::fail::FailureCause;
use super::plan::{LoadModel, LoadPlan, LoadProtocol, ReadSpeed};
use super::request::RequestWriter;
use super::response::StreamProgress;
use super::schedule::{StartSchedule, share_for_thread};
use super::tally::{LoadTally, duration_nanos};

use slot::{
    ClientSlot, ConnectionPhase, EngineTimer, FreedStream, PendingRequest, StreamSlot, TimerAction,
};

mod outcome;
mod slot;
mod timeouts;

#[derive(Debug)]
pub struct LoadEngine {
    plan: Arc<LoadPlan>,
    requests: RequestWriter,
    slots: Vec<ClientSlot>,
    schedule: Option<StartSchedule>,
    /// Open loop: idle connections (with HTTP/2 streams), the longest idle first.
    idle: VecDeque<StreamSlot>,
    /// Open loop: intended starts that found every connection busy.
    backlog: VecDeque<MonotonicTime>,
    wakes: BinaryHeap<Reverse<EngineTimer>>,
    actions: VecDeque<SocketAction>,
    /// The progress of streams after received bytes.
    settled: Vec<StreamProgress>,
    freed: Vec<FreedStream>,
    tally: LoadTally,
    /// Requests that may still start.
    remaining: u64,
    start: MonotonicTime,
    ends: MonotonicTime,
    gives_up: MonotonicTime,
    sweep: MonotonicTime,
    sweep_every: Duration,
}

impl LoadEngine {
    /// The engine of thread `thread` of the plan, starting at `start`, with an empty tally.
    pub fn new(
        plan: Arc<LoadPlan>,
        thread: usize,
        start: MonotonicTime,
        tally: LoadTally,
    ) -> LoadEngine {
        let threads = plan.threads;
        let slots = share_for_thread(plan.connections() as u64, thread, threads) as usize;
        let number = thread as u64;
        let of = threads as u64;
        let schedule = match plan.pace {
            LoadModel::Open { per_second, .. } => {
                Some(StartSchedule::new(start, per_second, number, of))
            }
            LoadModel::Closed { .. } => None,
        };
        let client = || match plan.protocol {
            _ if plan.http2 => LoadClient::http2(plan.secure.is_some(), plan.streams),
            LoadProtocol::Http(_) | LoadProtocol::Mix(_) => LoadClient::http(),
            LoadProtocol::Echo { .. } => LoadClient::echo(),
        };
        // Streams are assigned in rounds: first one of each connection.
        let lanes = (0..plan.streams)
            .flat_map(|stream| (0..slots).map(move |slot| StreamSlot { slot, stream }));
        let lanes: VecDeque<StreamSlot> = lanes.collect();
        let sweep_every = (plan.timeout / 20).clamp(SWEEP_SHORTEST, SWEEP_LONGEST);
        let mut engine = LoadEngine {
            requests: RequestWriter::new(&plan.protocol, plan.persist, number, of),
            slots: (0..slots).map(|_| ClientSlot::new(client(), plan.streams)).collect(),
            idle: lanes,
            schedule,
            backlog: VecDeque::new(),
            wakes: BinaryHeap::new(),
            actions: VecDeque::new(),
            settled: Vec::new(),
            freed: Vec::new(),
            tally,
            remaining: plan.requests.map_or(u64::MAX, |all| share_for_thread(all, thread, threads)),
            start,
            ends: plan.time.map_or(MonotonicTime::NEVER, |time| start + time),
            gives_up: MonotonicTime::NEVER,
            sweep: start + sweep_every,
            sweep_every,
            plan,
        };
        if engine.schedule.is_none() {
            for lane in std::mem::take(&mut engine.idle) {
                engine.add_timer(start, lane, TimerAction::StartRequest);
            }
        }
        engine
    }

    /// The counts so far.
    pub fn tally(&self) -> &LoadTally {
        &self.tally
    }

    /// The next action to perform.
    pub fn next_action(&mut self) -> Option<SocketAction> {
        self.actions.pop_front()
    }

    /// Starts no further requests; waits for responses during the grace time.
    pub fn stop(&mut self, now: MonotonicTime) {
        let start_nanos = if self.may_start() { duration_nanos(now.since(self.start)) } else { 0 };
        self.tally.record_end(start_nanos, self.backlog.len() as u64);
        self.remaining = 0;
        self.gives_up = self.gives_up.min(now + self.plan.grace);
    }

    /// Whether the run has ended.
    pub fn is_finished(&self, now: MonotonicTime) -> bool {
        !self.may_start() && (self.tally.in_flight == 0 || now >= self.gives_up)
    }

    /// Handles all expired timers and due starts.
    pub fn run_due(&mut self, now: MonotonicTime) {
        while let Some(at) = self.take_start(now) {
            self.begin_scheduled(at, now);
        }
        while let Some(Reverse(wake)) = self.wakes.peek().copied()
            && wake.due <= now
        {
            self.wakes.pop();
            match wake.action {
                TimerAction::StartRequest => {
                    self.begin_next(StreamSlot { slot: wake.slot, stream: wake.stream }, now)
                }
                TimerAction::Read if wake.connection == self.slots[wake.slot].connection => {
                    self.slots[wake.slot].paused = false;
                    self.actions.push_back(SocketAction::Read(wake.slot));
                }
                TimerAction::Read => {}
            }
        }
        if now >= self.ends || (self.remaining == 0 && self.gives_up == MonotonicTime::NEVER) {
            self.stop(now);
        }
        if now >= self.sweep {
            self.sweep = now + self.sweep_every;
            self.expire_timeouts(now);
        }
    }

    pub fn on_connected(&mut self, slot: usize, now: MonotonicTime) {
        let chosen = &mut self.slots[slot];
        chosen.phase = ConnectionPhase::Ready;
        self.tally.connect.saturating_record(duration_nanos(now.since(chosen.phase_since)));
        chosen.phase_since = now;
        chosen.pending.iter_mut().flatten().for_each(|request| request.ready = now);
        self.actions.push_back(SocketAction::Flush(slot));
    }

    pub fn on_connect_failed(&mut self, slot: usize, fail: FailureCause, now: MonotonicTime) {
        self.fail_all(slot, fail, now);
    }

    pub fn is_connecting(&self, slot: usize) -> bool {
        self.slots[slot].phase == ConnectionPhase::Connecting
    }

    /// The number of bytes that may be read now, at most `most`.
    pub fn readable_bytes(&self, slot: usize, most: usize) -> usize {
        match self.plan.reading {
            _ if self.slots[slot].paused || self.slots[slot].phase != ConnectionPhase::Ready => 0,
            ReadSpeed::Fast => most,
            ReadSpeed::Slow { bytes, .. } => bytes.min(most),
        }
    }

    /// The bytes to send on the connection.
    pub fn pending(&self, slot: usize) -> &[u8] {
        match self.slots[slot].phase {
            ConnectionPhase::Ready => self.slots[slot].client.pending(),
            ConnectionPhase::Closed | ConnectionPhase::Connecting => &[],
        }
    }

    /// The thread had bytes to send and waited this long.
    pub fn record_send_delay(&mut self, span: Duration) {
        self.tally.lag.saturating_record(duration_nanos(span));
    }

    /// Notes that pending bytes were sent.
    pub fn on_written(&mut self, slot: usize, bytes: usize, now: MonotonicTime) {
        self.tally.bytes_out += bytes as u64;
        let chosen = &mut self.slots[slot];
        chosen.client.on_written(bytes);
        for (stream, asked) in chosen.pending.iter_mut().enumerate() {
            if let Some(PendingRequest { sent_at: sent @ None, .. }) = asked
                && chosen.client.is_sent(stream)
            {
                *sent = Some(now);
            }
        }
    }

    pub fn on_received(&mut self, slot: usize, bytes: &[u8], now: MonotonicTime) {
        self.tally.bytes_in += bytes.len() as u64;
        let lane = StreamSlot { slot, stream: 0 };
        if let ReadSpeed::Slow { pause, .. } = self.plan.reading {
            self.slots[slot].paused = true;
            self.add_timer(now + pause, lane, TimerAction::Read);
        }
        if self.slots[slot].close_deadline.take().is_some() {
            self.tally.never_ended += 1;
            self.close(slot);
            return self.free_stream(lane, self.think_time(lane), now);
        }
        let chosen = &mut self.slots[slot];
        chosen.last_received = now;
        if !chosen.has_request() {
            // No request was in flight, so none can have failed; HTTP/2 control frames are answered.
            return if chosen.client.on_idle_bytes(bytes) {
                self.actions.push_back(SocketAction::Flush(slot));
            } else {
                self.close(slot);
            };
        }
        chosen.client.on_received(bytes, &mut self.settled);
        for (stream, asked) in chosen.pending.iter_mut().enumerate() {
            if let Some(PendingRequest { first_byte: first @ None, .. }) = asked
                && chosen.client.has_begun(stream)
            {
                *first = Some(now);
            }
        }
        self.settle_connection(slot, now);
    }

    pub fn on_peer_end(&mut self, slot: usize, end: PeerClose, now: MonotonicTime) {
        if self.slots[slot].close_deadline.take().is_some() {
            self.close(slot);
            let lane = StreamSlot { slot, stream: 0 };
            return self.free_stream(lane, self.think_time(lane), now);
        }
        let chosen = &mut self.slots[slot];
        for stream in 0..chosen.pending.len() {
            let progress = chosen.client.on_peer_end(stream, end);
            self.settled.extend(progress.map(|progress| StreamProgress { stream, progress }));
        }
        if self.settled.is_empty() {
            self.tally.idle_ended += 1;
        }
        // Queued requests need another connection, so this one must not be reused.
        chosen.client.stop_reusing();
        self.settle_connection(slot, now);
        if self.slots[slot].phase != ConnectionPhase::Closed && !self.slots[slot].has_request() {
            self.close(slot);
            self.continue_connection(slot, now);
        }
    }

    fn may_start(&self) -> bool {
        self.remaining > 0
    }

    fn take_start(&mut self, now: MonotonicTime) -> Option<MonotonicTime> {
        // Nothing starts at the very end: one second at a rate of n has n starts.
        let until = now.min(MonotonicTime(self.ends.0 - 1));
        let at = if self.remaining > 0 { self.schedule.as_mut()?.take_due(until) } else { None }?;
        self.remaining -= 1;
        Some(at)
    }

    fn begin_scheduled(&mut self, intended: MonotonicTime, now: MonotonicTime) {
        self.tally.requests += 1;
        self.tally.in_flight += 1;
        self.tally.lag.saturating_record(duration_nanos(now.since(intended)));
        match self.idle.pop_front() {
            Some(lane) => self.send_request(lane, intended, now),
            None if self.backlog.len() < BACKLOG => self.backlog.push_back(intended),
            None => self.fail_unsent(),
        }
    }

    fn begin_next(&mut self, lane: StreamSlot, now: MonotonicTime) {
        if self.remaining > 0 && now < self.ends {
            self.remaining -= 1;
            self.tally.requests += 1;
            self.tally.in_flight += 1;
            self.send_request(lane, now, now);
        }
    }

    fn send_request(
        &mut self,
        StreamSlot { slot, stream }: StreamSlot,
        intended: MonotonicTime,
        now: MonotonicTime,
    ) {
        let requests = &mut self.requests;
        let chosen = &mut self.slots[slot];
        let deadline = intended + self.plan.timeout;
        chosen.pending[stream] = Some(PendingRequest {
            intended,
            deadline,
            ready: now,
            sent_at: None,
            first_byte: None,
        });
        chosen.client.send_request(stream, self.plan.protocol.request_templates(), |out| {
            requests.write(out)
        });
        match chosen.phase {
            ConnectionPhase::Ready => self.actions.push_back(SocketAction::Flush(slot)),
            ConnectionPhase::Connecting => {}
            ConnectionPhase::Closed => self.connect(slot, now),
        }
    }

    fn connect(&mut self, slot: usize, now: MonotonicTime) {
        let chosen = &mut self.slots[slot];
        chosen.phase = ConnectionPhase::Connecting;
        chosen.phase_since = now;
        chosen.client.reset_for_connection();
        chosen.responses = 0;
        self.tally.connects += 1;
        self.actions.push_back(SocketAction::Connect(slot));
    }

    fn close(&mut self, slot: usize) {
        let chosen = &mut self.slots[slot];
        chosen.paused = false;
        if chosen.close_deadline.take().is_some() {
            // The connection closed before its deadline expired, so its stream must be freed here.
            let lane = StreamSlot { slot, stream: 0 };
            self.freed.push(FreedStream { lane, pause: self.think_time(lane) });
        }
        let chosen = &mut self.slots[slot];
        chosen.connection = chosen.connection.wrapping_add(1);
        chosen.client.on_closed();
        if chosen.phase != ConnectionPhase::Closed {
            chosen.phase = ConnectionPhase::Closed;
            self.actions.push_back(SocketAction::Close(slot));
        }
    }

    fn add_timer(&mut self, due: MonotonicTime, lane: StreamSlot, action: TimerAction) {
        let StreamSlot { slot, stream } = lane;
        let connection = self.slots[slot].connection;
        self.wakes.push(Reverse(EngineTimer { due, slot, stream, connection, action }));
    }
}

/// Starts that wait for a connection, per thread; further ones fail at once.
const BACKLOG: usize = 100_000;
/// Timeouts are not checked more often than this: a finer check would reduce the generator's rate.
const SWEEP_SHORTEST: Duration = Duration::from_millis(1);
/// Timeouts are detected at most this late.
const SWEEP_LONGEST: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
