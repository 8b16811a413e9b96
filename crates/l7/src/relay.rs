//! One attempt of an exchange: the request to a server and its answer to the client, both directions at once.
//!
//! A machine that is polled: each poll moves what can be moved and otherwise says by when something must happen. It
//! ends with an ending or a fault; what a fault leads to is decided by `exchange`.

mod ahead;
mod answer;
mod coded;
mod ending;
mod faults;
mod streams;
mod upload;
mod whom;

use std::cell::Cell;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use model::cause::Cause;
use model::compress;
use model::moment::Moment;
use model::snapshot::{PoolView, ServiceView};

use crate::account::Record;
use crate::again::Another;
use crate::changes::Changes;
use crate::cuts::Cuts;
use crate::flow::{Flow, Framing, Step};
use crate::hedge::{Hedged, Race, Second, Sent};
use crate::incoming::Incoming;
use crate::measured;
use crate::meter::{Meter, Moved};
use crate::reported::Reported;
use crate::rt::Net;
use crate::stream::Stream;
use crate::worker::Worker;
pub use ending::{Ending, Fault};

/// One attempt.
pub struct Relay<'a, N: Net> {
    ends: Ends<'a, N>,
    incoming: &'a mut Incoming<N>,
    record: &'a mut Record,
    sent: usize,
    meter: Meter,
    /// Bytes of the answer's heads.
    heads: u64,
    /// Informational answers so far.
    interim: u32,
    /// One of them was passed on.
    interim_sent: bool,
    uploaded: bool,
    server_deaf: bool,
    partial: Vec<u8>,
    down: Flow<N>,
    answer: Option<Ending>,
    answer_begun: bool,
    /// The answer's head is held back for one turn.
    head_waits: bool,
    excess: Vec<u8>,
    up_moved: (u64, Moment),
    down_moved: (u64, Moment),
    up_waits: Waits,
    down_waits: Waits,
    keep_alive_timeout: Option<u32>,
    reported: Option<Reported>,
    /// Either side may say nothing for long: a stream of events or messages.
    streams: bool,
    /// A second attempt beside this one, until either server answers.
    race: Option<Box<Race<N>>>,
    /// It has won.
    won: Option<Box<Hedged<N>>>,
    /// The request was sent before this attempt: when, and what came already.
    before: Option<Moment>,
    given: Vec<u8>,
}

/// For whom a direction waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Nobody,
    Client,
    Server,
}

/// What an attempt runs between.
pub struct Ends<'a, N: Net> {
    /// The worker.
    pub worker: &'a Worker<N>,
    /// The client's connection.
    pub client: &'a Stream<N>,
    /// The server's connection.
    pub server: &'a Stream<N>,
    /// The service as it was when the exchange began.
    pub service: Arc<ServiceView>,
    /// The pool as it is now.
    pub pool: Arc<PoolView>,
    /// When the whole exchange must be over.
    pub whole: Moment,
    /// When all attempts together must be over; `NEVER`: this is the first one, which has times of its own.
    pub until: Moment,
    /// When the service is cut; may come nearer meanwhile.
    pub cut_at: &'a Cell<Moment>,
    /// Whether the server's connections were ordered to be cut.
    pub cuts: &'a Cuts,
    /// Bytes that were sent to the server's connection before.
    pub sent_before: u64,
    /// What is changed in the answer's head.
    pub changes: &'a Changes,
    /// How the client takes the answer coded.
    pub asked: compress::Asked,
    /// What it may be given up for, if its request may be sent again.
    pub another: Option<Another<'a, N>>,
}

impl<'a, N: Net> Relay<'a, N> {
    /// An attempt that has sent nothing yet.
    pub fn new(
        ends: Ends<'a, N>,
        meter: Meter,
        incoming: &'a mut Incoming<N>,
        record: &'a mut Record,
    ) -> Self {
        let now = ends.worker.rt.now();
        let limit = ends.service.config.limit.connection_bytes;
        let sockets = (ends.client, ends.server);
        measured::begin(&ends.worker.lot, &mut record.measured, sockets, now);
        let streams = streams::asks(incoming);
        Relay {
            ends,
            incoming,
            record,
            sent: 0,
            meter,
            heads: 0,
            interim: 0,
            interim_sent: false,
            uploaded: false,
            server_deaf: false,
            partial: Vec::new(),
            down: Flow::towards(sockets.0, Framing::Done, limit),
            answer: None,
            answer_begun: false,
            head_waits: false,
            excess: Vec::new(),
            up_moved: (0, now),
            down_moved: (0, now),
            up_waits: Waits::Nobody,
            down_waits: Waits::Server,
            keep_alive_timeout: None,
            reported: None,
            streams,
            race: None,
            won: None,
            before: None,
            given: Vec::new(),
        }
    }

    /// A second attempt may be made beside it.
    pub fn races(&mut self, race: Option<Box<Race<N>>>) {
        self.race = race;
    }

    /// Its request was sent already, and the answer has begun.
    pub fn resume(&mut self, sent: Sent) {
        self.sent = self.incoming.head.len();
        (self.before, self.given) = (Some(sent.at), sent.first);
    }

    /// The second attempt: one that has won, or one that is under way.
    pub fn take_second(&mut self) -> Second<N> {
        match (self.won.take(), self.race.take()) {
            (Some(won), _) => Second::Won(won),
            (None, Some(race)) if race.is_under_way() => Second::Runs(race),
            _ => Second::None,
        }
    }

    /// What the server said of its load, if it was asked for.
    pub fn reported(&self) -> Option<Reported> {
        self.reported
    }

    /// How long the server says it keeps idle connections, seconds.
    pub fn keep_alive_timeout(&self) -> Option<u32> {
        self.keep_alive_timeout
    }

    /// Bytes that came after the end of the client's body: the next request.
    pub fn take_excess(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.excess)
    }

    /// What has moved.
    pub fn moved(&self) -> Moved {
        self.meter.moved
    }

    /// It is over: gives buffers and pipes back, and has the sockets read if that is wanted.
    pub fn release(&mut self) {
        let Ends { worker, client, server, service, .. } = &self.ends;
        self.coded();
        self.down.release(worker);
        measured::end(&worker.lot, service, self.record, (client, server), worker.rt.now());
    }

    /// Whether every byte of the request that was taken from the client is still in `incoming.head`.
    pub fn replayable(&self) -> bool {
        let body = &self.incoming.body;
        !self.incoming.resend.is_released() && body.given == 0 && !body.holds()
    }

    /// Moves what can be moved.
    pub fn poll(&mut self) -> Poll<Result<Ending, Fault>> {
        let polled = self.recalled().progress();
        self.meter.set(Moved {
            from_client: self.incoming.received + self.incoming.body.taken,
            to_client: self.down.given,
            from_server: self.heads + self.down.taken,
            to_server: self.sent as u64 + self.incoming.body.given,
            spliced: self.down.spliced + self.incoming.body.spliced,
        });
        if polled.is_pending() {
            self.waits();
        }
        polled
    }

    fn progress(&mut self) -> Poll<Result<Ending, Fault>> {
        let mut again = false;
        if !self.uploaded {
            match self.upload() {
                Ok(more) => again |= more,
                Err(fault) => return Poll::Ready(Err(fault)),
            }
        }
        match self.download() {
            Ok(Some(ending)) => return Poll::Ready(Ok(ending)),
            Ok(None) => {}
            Err(fault) => return Poll::Ready(Err(fault)),
        }
        if self.record.first_byte.is_some() {
            self.race = None;
        }
        if self.ends.client.broken() {
            return Poll::Ready(Err(self.client_gone()));
        }
        again |=
            self.answer.is_some() && self.down_waits == Waits::Nobody && !self.switches_early();
        if again && let Some(me) = self.ends.worker.rt.current() {
            self.ends.worker.rt.wake(me);
        }
        self.deadline()
    }

    fn download(&mut self) -> Result<Option<Ending>, Fault> {
        if self.answer.is_none() {
            self.read_head()?;
        }
        let Some(answer) = self.answer else { return Ok(None) };
        self.release_body();
        if answer == Ending::Upgraded && !self.down.holds() {
            return match self.switches_early() {
                true => self.wait_down(Waits::Nobody),
                false => Ok(Some(answer)),
            };
        }
        let mut excess = Vec::new();
        let step =
            self.down.step(self.ends.worker, self.ends.server, self.ends.client, &mut excess);
        let total = self.down.given + self.down.taken;
        if total != self.down_moved.0 {
            self.down_moved = (total, self.ends.worker.rt.now());
        }
        match step {
            Step::Finished if self.switches_early() => self.wait_down(Waits::Nobody),
            Step::Finished => {
                let clean = excess.is_empty() && self.uploaded;
                Ok(Some(match answer {
                    Ending::Answered { keep_client, keep_server } => Ending::Answered {
                        keep_client: keep_client && self.uploaded,
                        keep_server: keep_server && clean,
                    },
                    other => other,
                }))
            }
            Step::Again => self.wait_down(Waits::Nobody),
            Step::Sender => self.wait_down(Waits::Server),
            Step::Receiver => match self.all_here(answer, excess.is_empty()) {
                None => self.wait_down(Waits::Client),
                ending => Ok(ending),
            },
            Step::Cut | Step::SenderFailed => Err(self.fault(Cause::ServerCut)),
            Step::ReceiverFailed => Err(self.client_gone()),
            Step::Malformed(defect) => {
                Err(Fault { defect: Some(defect), ..self.fault(Cause::BadResponse) })
            }
            Step::Failed => Err(self.fault(Cause::Internal)),
        }
    }

    /// Whether the server has switched before it had the whole request: its body comes first (RFC 9110 §7.8).
    fn switches_early(&self) -> bool {
        self.answer == Some(Ending::Upgraded) && !self.uploaded && !self.server_deaf
    }

    fn wait_down(&mut self, waits: Waits) -> Result<Option<Ending>, Fault> {
        self.down_waits = waits;
        Ok(None)
    }

    /// When the next thing must have happened, and what it means if it has not.
    fn deadline(&mut self) -> Poll<Result<Ending, Fault>> {
        if self.ends.cuts.due() {
            return Poll::Ready(Err(self.fault(Cause::OrderCut)));
        }
        if self.is_left() {
            return Poll::Ready(Err(self.fault(Cause::ServerMarkedDown)));
        }
        if self.is_overtaken() {
            return Poll::Ready(Err(self.fault(Cause::HedgeLost)));
        }
        let (service, pool) = (&self.ends.service.config.timeout, &self.ends.pool.config.timeout);
        let mut until = (self.ends.whole, Cause::WholeTimeout);
        let mut sooner = |at: Moment, cause: Cause| {
            if at < until.0 {
                until = (at, cause);
            }
        };
        sooner(self.ends.cut_at.get(), Cause::DrainCut);
        let patience = if self.streams { pool.stream } else { Duration::ZERO };
        match self.up_waits {
            Waits::Client => {
                let between = service.between_bytes.max(patience);
                sooner(self.up_moved.1 + between, Cause::ClientBodyTimeout)
            }
            Waits::Server => {
                sooner(self.up_moved.1 + pool.between_bytes, Cause::ServerWriteTimeout)
            }
            Waits::Nobody => {}
        }
        if self.answer.is_none() {
            if self.uploaded || self.server_deaf {
                sooner(self.down_moved.1 + pool.first_byte, Cause::FirstByteTimeout);
            }
            sooner(self.ends.until, Cause::FirstByteTimeout);
        } else {
            match self.down_waits {
                Waits::Server => {
                    let between = pool.between_bytes.max(patience);
                    sooner(self.down_moved.1 + between, Cause::ServerBodyTimeout)
                }
                Waits::Client => {
                    sooner(self.down_moved.1 + service.between_bytes, Cause::ClientReadTimeout)
                }
                Waits::Nobody => {}
            }
        }
        if self.ends.worker.rt.now() >= until.0 {
            return Poll::Ready(Err(self.fault(until.1)));
        }
        self.ends.worker.rt.wake_at(until.0);
        Poll::Pending
    }
}
