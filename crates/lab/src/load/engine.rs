//! One thread's load without its sockets: which connection asks when, and what became of it.
//!
//! Time and the outcomes of system calls come in, actions come out, so that it runs under virtual time too. It
//! never asks a failed request again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use model::moment::Moment;

use super::action::Action;
use super::answer::Progress;
use super::client::{Client, End};
use super::fail::Fail;
use super::plan::{Pace, Plan, Protocol, Reading};
use super::request::Requests;
use super::schedule::{Schedule, share};
use super::tally::{Tally, nanos};

use slot::{Asked, Lane, Phase, Slot, Wake, What};

mod due;
mod outcome;
mod slot;

/// One thread's load.
#[derive(Debug)]
pub struct Engine {
    plan: Arc<Plan>,
    requests: Requests,
    slots: Vec<Slot>,
    schedule: Option<Schedule>,
    /// Open loop: connections (with HTTP/2 streams) with nothing to do, the longest idle first.
    idle: VecDeque<Lane>,
    /// Open loop: starts that found every connection busy.
    backlog: VecDeque<Moment>,
    wakes: BinaryHeap<Reverse<Wake>>,
    actions: VecDeque<Action>,
    /// What the bytes at hand led to, by stream.
    settled: Vec<(usize, Progress)>,
    /// What has been answered or has failed, and its pause: the next requests are found for them.
    freed: Vec<(Lane, Duration)>,
    tally: Tally,
    /// Requests that may still begin.
    left: u64,
    start: Moment,
    ends: Moment,
    gives_up: Moment,
    sweep: Moment,
    sweep_every: Duration,
}

impl Engine {
    /// Thread `thread` of the plan's, starting at `start`, with an empty tally.
    pub fn new(plan: Arc<Plan>, thread: usize, start: Moment, tally: Tally) -> Engine {
        let threads = plan.threads;
        let slots = share(plan.connections() as u64, thread, threads) as usize;
        let (number, of) = (thread as u64, threads as u64);
        let schedule = match plan.pace {
            Pace::Open { per_second, .. } => Some(Schedule::new(start, per_second, number, of)),
            Pace::Closed { .. } => None,
        };
        let client = || match plan.protocol {
            _ if plan.http2 => Client::http2(plan.secure.is_some(), plan.streams),
            Protocol::Http(_) | Protocol::Mix(_) => Client::http(),
            Protocol::Echo { .. } => Client::echo(),
        };
        // Streams are taken up one of each connection first.
        let lanes = (0..plan.streams).flat_map(|stream| (0..slots).map(move |slot| (slot, stream)));
        let lanes: VecDeque<Lane> = lanes.collect();
        let sweep_every = (plan.timeout / 20).clamp(SWEEP_SHORTEST, SWEEP_LONGEST);
        let mut engine = Engine {
            requests: Requests::new(&plan.protocol, plan.persist, number, of),
            slots: (0..slots).map(|_| Slot::new(client(), plan.streams)).collect(),
            idle: lanes,
            schedule,
            backlog: VecDeque::new(),
            wakes: BinaryHeap::new(),
            actions: VecDeque::new(),
            settled: Vec::new(),
            freed: Vec::new(),
            tally,
            left: plan.requests.map_or(u64::MAX, |all| share(all, thread, threads)),
            start,
            ends: plan.time.map_or(Moment::NEVER, |time| start + time),
            gives_up: Moment::NEVER,
            sweep: start + sweep_every,
            sweep_every,
            plan,
        };
        if engine.schedule.is_none() {
            for lane in std::mem::take(&mut engine.idle) {
                engine.wake(start, lane, What::Ask);
            }
        }
        engine
    }

    /// The counts so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The next thing to do.
    pub fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// No request begins any more; answers are waited for during the grace time.
    pub fn stop(&mut self, now: Moment) {
        let asked = if self.is_asking() { nanos(now.since(self.start)) } else { 0 };
        self.tally.end(asked, self.backlog.len() as u64);
        self.left = 0;
        self.gives_up = self.gives_up.min(now + self.plan.grace);
    }

    /// Whether all is over.
    pub fn is_finished(&self, now: Moment) -> bool {
        !self.is_asking() && (self.tally.in_flight == 0 || now >= self.gives_up)
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Moment) {
        while let Some(at) = self.take_start(now) {
            self.begin_open(at, now);
        }
        while let Some(Reverse(wake)) = self.wakes.peek().copied()
            && wake.at <= now
        {
            self.wakes.pop();
            match wake.what {
                What::Ask => self.begin_closed((wake.slot, wake.stream), now),
                What::Read if wake.connection == self.slots[wake.slot].connection => {
                    self.slots[wake.slot].paused = false;
                    self.actions.push_back(Action::Read(wake.slot));
                }
                What::Read => {}
            }
        }
        if now >= self.ends || (self.left == 0 && self.gives_up == Moment::NEVER) {
            self.stop(now);
        }
        if now >= self.sweep {
            self.sweep = now + self.sweep_every;
            self.expire(now);
        }
    }

    /// The connection is established.
    pub fn connected(&mut self, slot: usize, now: Moment) {
        let chosen = &mut self.slots[slot];
        chosen.phase = Phase::Ready;
        self.tally.connect.saturating_record(nanos(now.since(chosen.since)));
        chosen.since = now;
        chosen.asked.iter_mut().flatten().for_each(|asked| asked.ready = now);
        self.actions.push_back(Action::Flush(slot));
    }

    /// The connection could not be established.
    pub fn connect_failed(&mut self, slot: usize, fail: Fail, now: Moment) {
        self.fail_all(slot, fail, now);
    }

    /// Whether the connection is being established.
    pub fn is_connecting(&self, slot: usize) -> bool {
        self.slots[slot].phase == Phase::Connecting
    }

    /// How many bytes may be read of it now.
    pub fn readable(&self, slot: usize, most: usize) -> usize {
        match self.plan.reading {
            _ if self.slots[slot].paused || self.slots[slot].phase != Phase::Ready => 0,
            Reading::Fast => most,
            Reading::Slow { bytes, .. } => bytes.min(most),
        }
    }

    /// What is to be sent on it.
    pub fn pending(&self, slot: usize) -> &[u8] {
        match self.slots[slot].phase {
            Phase::Ready => self.slots[slot].client.pending(),
            Phase::Down | Phase::Connecting => &[],
        }
    }

    /// The program had something to send and let it wait so long.
    pub fn held_up(&mut self, span: Duration) {
        self.tally.lag.saturating_record(nanos(span));
    }

    /// So many pending bytes were sent.
    pub fn wrote(&mut self, slot: usize, bytes: usize, now: Moment) {
        self.tally.bytes_out += bytes as u64;
        let chosen = &mut self.slots[slot];
        chosen.client.wrote(bytes);
        for (stream, asked) in chosen.asked.iter_mut().enumerate() {
            if let Some(Asked { sent: sent @ None, .. }) = asked
                && chosen.client.is_sent(stream)
            {
                *sent = Some(now);
            }
        }
    }

    /// Bytes came.
    pub fn received(&mut self, slot: usize, bytes: &[u8], now: Moment) {
        self.tally.bytes_in += bytes.len() as u64;
        if let Reading::Slow { pause, .. } = self.plan.reading {
            self.slots[slot].paused = true;
            self.wake(now + pause, (slot, 0), What::Read);
        }
        if self.slots[slot].parting.take().is_some() {
            self.tally.never_ended += 1;
            self.close(slot);
            return self.free((slot, 0), self.think((slot, 0)), now);
        }
        let chosen = &mut self.slots[slot];
        chosen.heard = now;
        if !chosen.is_asked() {
            // Nothing was asked, so no request can have failed; what HTTP/2 says then is answered.
            return if chosen.client.idle(bytes) {
                self.actions.push_back(Action::Flush(slot));
            } else {
                self.close(slot);
            };
        }
        chosen.client.received(bytes, &mut self.settled);
        for (stream, asked) in chosen.asked.iter_mut().enumerate() {
            if let Some(Asked { first: first @ None, .. }) = asked
                && chosen.client.began(stream)
            {
                *first = Some(now);
            }
        }
        self.settle(slot, now);
    }

    /// The peer ended the connection.
    pub fn ended(&mut self, slot: usize, end: End, now: Moment) {
        if self.slots[slot].parting.take().is_some() {
            self.close(slot);
            return self.free((slot, 0), self.think((slot, 0)), now);
        }
        let chosen = &mut self.slots[slot];
        for stream in 0..chosen.asked.len() {
            self.settled
                .extend(chosen.client.ended(stream, end).map(|progress| (stream, progress)));
        }
        if self.settled.is_empty() {
            self.tally.idle_ended += 1;
        }
        // What waited for another connection gets it.
        chosen.client.leave();
        self.settle(slot, now);
        if self.slots[slot].phase != Phase::Down && !self.slots[slot].is_asked() {
            self.close(slot);
            self.go_on(slot, now);
        }
    }

    fn is_asking(&self) -> bool {
        self.left > 0
    }

    fn take_start(&mut self, now: Moment) -> Option<Moment> {
        // Nothing starts at the very end: a second at a rate of n has n starts.
        let until = now.min(Moment(self.ends.0 - 1));
        let at = if self.left > 0 { self.schedule.as_mut()?.take(until) } else { None }?;
        self.left -= 1;
        Some(at)
    }

    fn begin_open(&mut self, intended: Moment, now: Moment) {
        self.tally.requests += 1;
        self.tally.in_flight += 1;
        self.tally.lag.saturating_record(nanos(now.since(intended)));
        match self.idle.pop_front() {
            Some(lane) => self.ask(lane, intended, now),
            None if self.backlog.len() < BACKLOG => self.backlog.push_back(intended),
            None => self.not_sent(),
        }
    }

    fn begin_closed(&mut self, lane: Lane, now: Moment) {
        if self.left > 0 && now < self.ends {
            self.left -= 1;
            self.tally.requests += 1;
            self.tally.in_flight += 1;
            self.ask(lane, now, now);
        }
    }

    fn ask(&mut self, (slot, stream): Lane, intended: Moment, now: Moment) {
        let (requests, chosen) = (&mut self.requests, &mut self.slots[slot]);
        let deadline = intended + self.plan.timeout;
        chosen.asked[stream] =
            Some(Asked { intended, deadline, ready: now, sent: None, first: None });
        chosen.client.ask(stream, self.plan.protocol.shots(), |out| requests.write(out));
        match chosen.phase {
            Phase::Ready => self.actions.push_back(Action::Flush(slot)),
            Phase::Connecting => {}
            Phase::Down => self.connect(slot, now),
        }
    }

    fn connect(&mut self, slot: usize, now: Moment) {
        let chosen = &mut self.slots[slot];
        chosen.phase = Phase::Connecting;
        chosen.since = now;
        chosen.client.renewed();
        chosen.answers = 0;
        self.tally.connects += 1;
        self.actions.push_back(Action::Connect(slot));
    }

    fn close(&mut self, slot: usize) {
        let chosen = &mut self.slots[slot];
        chosen.paused = false;
        if chosen.parting.take().is_some() {
            // The end that was waited for has come in another way, and nobody else frees the place.
            self.freed.push(((slot, 0), self.think((slot, 0))));
        }
        let chosen = &mut self.slots[slot];
        chosen.connection = chosen.connection.wrapping_add(1);
        chosen.client.closed();
        if chosen.phase != Phase::Down {
            chosen.phase = Phase::Down;
            self.actions.push_back(Action::Close(slot));
        }
    }

    fn wake(&mut self, at: Moment, (slot, stream): Lane, what: What) {
        let connection = self.slots[slot].connection;
        self.wakes.push(Reverse(Wake { at, slot, stream, connection, what }));
    }
}

/// Starts that wait for a connection, per thread; later ones fail at once.
const BACKLOG: usize = 100_000;
const SWEEP_SHORTEST: Duration = Duration::from_millis(1);
const SWEEP_LONGEST: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
