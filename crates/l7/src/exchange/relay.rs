//! One attempt of an exchange: relays the request to a server and its response to the client, in both directions at
//! once.
//!
//! A state machine: each poll transfers what is possible and otherwise sets the next deadline. The result is an ending
//! or a fault; `exchange` decides what follows a fault.

mod faults;
mod interception;
mod outcome;
mod read_ahead;
mod response;
mod response_compression;
mod streams;
mod upload;
mod wait_target;

use std::cell::Cell;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use model::cause::Cause;
use model::compression;
use model::monotonic_time::MonotonicTime;
use model::rules::ExchangeSettings;
use model::snapshot::{PoolView, ServiceView};

use crate::accounting::ExchangeRecord;
use crate::accounting::meter::{Meter, TransferTotals};
use crate::conn::sampling;
use crate::conn::stream::ProxyStream;
use crate::exchange::abort_watch::AbortWatch;
use crate::exchange::flow::{BodyFraming, ByteFlow, FlowStep, TransferProgress};
use crate::exchange::incoming_request::IncomingRequest;
use crate::exchange::load_report::ServerLoadReport;
use crate::rt::NetDriver;
use crate::upstream::hedge::{HedgeResult, HedgeState, HedgeWinner, SentRequest};
use crate::upstream::response_changes::ResponseChanges;
use crate::upstream::retry_attempts::RetryTrigger;
use crate::worker::Worker;
pub use outcome::{AttemptEnding, AttemptFault, InterceptedAnswer};

pub struct AttemptRelay<'a, N: NetDriver> {
    context: RelayContext<'a, N>,
    incoming: &'a mut IncomingRequest<N>,
    record: &'a mut ExchangeRecord,
    sent: usize,
    meter: Meter,
    /// Bytes of the response's heads.
    heads: u64,
    /// Number of interim responses so far.
    interim: u32,
    /// An interim response was passed to the client.
    interim_sent: bool,
    uploaded: bool,
    server_stopped_reading: bool,
    partial: Vec<u8>,
    down: ByteFlow<N>,
    answer: Option<AttemptEnding>,
    answer_begun: bool,
    /// The response's head is delayed by one turn.
    head_pending: bool,
    excess: Vec<u8>,
    up_progress: TransferProgress,
    down_progress: TransferProgress,
    up_wait: RelayWait,
    down_wait: RelayWait,
    keep_alive_timeout: Option<u32>,
    load_report: Option<ServerLoadReport>,
    /// Both sides may be silent for long: a stream of events or messages.
    streams: bool,
    /// A hedged attempt, until either server responds.
    hedge: Option<Box<HedgeState<N>>>,
    hedge_winner: Option<Box<HedgeWinner<N>>>,
    /// For a request that was sent before this attempt: when it was sent, and the first bytes of its response.
    answer_first_byte: Option<MonotonicTime>,
    answer_prefix: Vec<u8>,
    intercepted: InterceptedAnswer,
}

/// The side that a direction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RelayWait {
    Nobody,
    Client,
    Server,
}

/// The connections and settings of an attempt.
pub struct RelayContext<'a, N: NetDriver> {
    pub worker: &'a Worker<N>,
    pub client: &'a ProxyStream<N>,
    pub server: &'a ProxyStream<N>,
    /// The service's view when the exchange began.
    pub service: Arc<ServiceView>,
    /// The pool's current view.
    pub pool: Arc<PoolView>,
    /// The deadline of the exchange.
    pub total_deadline: MonotonicTime,
    /// The deadline of all attempts; `NEVER`: the first attempt, which only has its own timeouts.
    pub until: MonotonicTime,
    /// When the service's remaining exchanges are reset; may become earlier.
    pub cut_at: &'a Cell<MonotonicTime>,
    /// Detects an operator's order to close the server's connections.
    pub abort_watch: &'a AbortWatch,
    /// Bytes sent on the server's connection before this attempt.
    pub sent_before: u64,
    /// Changes to the response's head.
    pub changes: &'a ResponseChanges,
    /// The content codings that the client accepts.
    pub accepted_encodings: compression::AcceptedEncodings,
    /// Reasons to abandon this attempt for a retry, if the request may be sent again.
    pub retry_trigger: Option<RetryTrigger<'a, N>>,
    /// The timeouts, retries and buffering of the exchange.
    pub settings: &'a ExchangeSettings,
}

impl<'a, N: NetDriver> AttemptRelay<'a, N> {
    /// An attempt that has sent nothing yet.
    pub fn new(
        ends: RelayContext<'a, N>,
        meter: Meter,
        incoming: &'a mut IncomingRequest<N>,
        record: &'a mut ExchangeRecord,
    ) -> Self {
        let now = ends.worker.rt.now();
        let limit = ends.service.config.limit.connection_bytes;
        let client = ends.client;
        let sampler = &ends.worker.sampler;
        sampling::begin_attempt(sampler, &mut record.sample, client, ends.server, now);
        let streams = streams::request_streams(incoming);
        AttemptRelay {
            context: ends,
            incoming,
            record,
            sent: 0,
            meter,
            heads: 0,
            interim: 0,
            interim_sent: false,
            uploaded: false,
            server_stopped_reading: false,
            partial: Vec::new(),
            down: ByteFlow::new_to_client(client, BodyFraming::Done, limit),
            answer: None,
            answer_begun: false,
            head_pending: false,
            excess: Vec::new(),
            up_progress: TransferProgress::new(now),
            down_progress: TransferProgress::new(now),
            up_wait: RelayWait::Nobody,
            down_wait: RelayWait::Server,
            keep_alive_timeout: None,
            load_report: None,
            streams,
            hedge: None,
            hedge_winner: None,
            answer_first_byte: None,
            answer_prefix: Vec::new(),
            intercepted: InterceptedAnswer::default(),
        }
    }

    /// Sets the hedged attempt.
    pub fn set_hedge(&mut self, hedge: Option<Box<HedgeState<N>>>) {
        self.hedge = hedge;
    }

    /// The request was already sent, and its response has begun.
    pub fn resume(&mut self, sent: SentRequest) {
        self.sent = self.incoming.head.len();
        self.answer_first_byte = Some(sent.sent_at);
        self.answer_prefix = sent.first_bytes;
    }

    /// The hedged attempt, if it has won or continues.
    pub fn take_hedge(&mut self) -> HedgeResult<N> {
        match (self.hedge_winner.take(), self.hedge.take()) {
            (Some(won), _) => HedgeResult::Won(won),
            (None, Some(hedge)) if hedge.is_under_way() => HedgeResult::Running(hedge),
            _ => HedgeResult::None,
        }
    }

    /// The server's load report, if the pool requests one.
    pub fn load_report(&self) -> Option<ServerLoadReport> {
        self.load_report
    }

    /// The server's keep-alive timeout in seconds.
    pub fn keep_alive_timeout(&self) -> Option<u32> {
        self.keep_alive_timeout
    }

    /// Bytes after the end of the client's body: the next request.
    pub fn take_excess(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.excess)
    }

    /// What is left of an intercepted answer.
    pub fn take_intercepted(&mut self) -> InterceptedAnswer {
        std::mem::take(&mut self.intercepted)
    }

    pub fn transfer_totals(&self) -> TransferTotals {
        self.meter.moved
    }

    /// Ends the attempt: returns buffers and pipes, and reads the sockets' counters if the exchange is measured.
    pub fn release(&mut self) {
        let RelayContext { worker, client, server, service, .. } = &self.context;
        self.count_compressed();
        self.down.release(worker);
        sampling::end_attempt(
            &worker.sampler,
            service,
            self.record,
            client,
            server,
            worker.rt.now(),
        );
    }

    /// Whether every received byte of the request is still in `incoming.head`.
    pub fn replayable(&self) -> bool {
        let body = &self.incoming.body;
        !self.incoming.resend.is_released() && body.bytes_out == 0 && !body.has_pending()
    }

    /// Transfers what is possible now.
    pub fn poll(&mut self) -> Poll<Result<AttemptEnding, AttemptFault>> {
        let polled = self.recall_wait().progress();
        self.meter.set_totals(TransferTotals {
            from_client: self.incoming.received_bytes + self.incoming.body.bytes_in,
            to_client: self.down.bytes_out,
            from_server: self.heads + self.down.bytes_in,
            to_server: self.sent as u64 + self.incoming.body.bytes_out,
            spliced: self.down.spliced + self.incoming.body.spliced,
        });
        if polled.is_pending() {
            self.record_wait();
        }
        polled
    }

    fn progress(&mut self) -> Poll<Result<AttemptEnding, AttemptFault>> {
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
            self.hedge = None;
        }
        if self.context.client.is_broken() {
            return Poll::Ready(Err(self.client_gone()));
        }
        again |=
            self.answer.is_some() && self.down_wait == RelayWait::Nobody && !self.switches_early();
        if again && let Some(me) = self.context.worker.rt.current() {
            self.context.worker.rt.wake(me);
        }
        self.deadline()
    }

    fn download(&mut self) -> Result<Option<AttemptEnding>, AttemptFault> {
        if self.answer.is_none() {
            self.read_head()?;
        }
        let Some(answer) = self.answer else { return Ok(None) };
        self.release_body();
        if answer == AttemptEnding::Upgraded && !self.down.has_pending() {
            return match self.switches_early() {
                true => self.wait_down(RelayWait::Nobody),
                false => Ok(Some(answer)),
            };
        }
        let mut excess = Vec::new();
        let step = self.down.step(
            self.context.worker,
            self.context.server,
            self.context.client,
            &mut excess,
        );
        let total = self.down.bytes_out + self.down.bytes_in;
        self.down_progress.update(total, self.context.worker.rt.now());
        match step {
            FlowStep::Finished if self.switches_early() => self.wait_down(RelayWait::Nobody),
            FlowStep::Finished => {
                let clean = excess.is_empty() && self.uploaded;
                Ok(Some(match answer {
                    AttemptEnding::Answered { keep_client, keep_server } => {
                        AttemptEnding::Answered {
                            keep_client: keep_client && self.uploaded,
                            keep_server: keep_server && clean,
                        }
                    }
                    AttemptEnding::Intercepted { keep_server } => {
                        AttemptEnding::Intercepted { keep_server: keep_server && clean }
                    }
                    other => other,
                }))
            }
            FlowStep::Yield => self.wait_down(RelayWait::Nobody),
            FlowStep::AwaitSender => self.wait_down(RelayWait::Server),
            FlowStep::AwaitReceiver => match self.finish_read_ahead(answer, excess.is_empty()) {
                None => self.wait_down(RelayWait::Client),
                ending => Ok(ending),
            },
            FlowStep::SenderTruncated | FlowStep::SenderFailed => Err(self.fault(Cause::ServerCut)),
            FlowStep::ReceiverFailed => Err(self.client_gone()),
            FlowStep::Malformed(defect) => {
                Err(AttemptFault { defect: Some(defect), ..self.fault(Cause::BadResponse) })
            }
            // Answers have no limit.
            FlowStep::TooLong | FlowStep::Failed => Err(self.fault(Cause::Internal)),
        }
    }

    /// Whether the server switched protocols before it had the whole request: the body is sent first (RFC 9110 §7.8).
    fn switches_early(&self) -> bool {
        self.answer == Some(AttemptEnding::Upgraded)
            && !self.uploaded
            && !self.server_stopped_reading
    }

    fn wait_down(&mut self, waits: RelayWait) -> Result<Option<AttemptEnding>, AttemptFault> {
        self.down_wait = waits;
        Ok(None)
    }

    /// Computes the next deadline, and returns the fault of one that has passed.
    fn deadline(&mut self) -> Poll<Result<AttemptEnding, AttemptFault>> {
        if self.context.abort_watch.is_due() {
            return Poll::Ready(Err(self.fault(Cause::OrderCut)));
        }
        if self.has_server_fallen() {
            return Poll::Ready(Err(self.fault(Cause::ServerMarkedDown)));
        }
        if self.has_hedge_won() {
            return Poll::Ready(Err(self.fault(Cause::HedgeLost)));
        }
        let RelayContext { service, pool, settings, .. } = &self.context;
        let mut until = self.context.total_deadline;
        let mut cause = Cause::WholeTimeout;
        let mut sooner = |at: MonotonicTime, reason: Cause| {
            if at < until {
                until = at;
                cause = reason;
            }
        };
        sooner(self.context.cut_at.get(), Cause::DrainCut);
        let patience = if self.streams { settings.stream(&pool.config) } else { Duration::ZERO };
        match self.up_wait {
            RelayWait::Client => {
                let between = settings.client_between_bytes(&service.config).max(patience);
                sooner(self.up_progress.moved_at + between, Cause::ClientBodyTimeout)
            }
            RelayWait::Server => {
                let between = settings.between_bytes(&pool.config);
                sooner(self.up_progress.moved_at + between, Cause::ServerWriteTimeout)
            }
            RelayWait::Nobody => {}
        }
        if self.answer.is_none() {
            if self.uploaded || self.server_stopped_reading {
                let silence = settings.first_byte(&pool.config);
                sooner(self.down_progress.moved_at + silence, Cause::FirstByteTimeout);
            }
            sooner(self.context.until, Cause::FirstByteTimeout);
        } else {
            match self.down_wait {
                RelayWait::Server => {
                    let between = settings.between_bytes(&pool.config).max(patience);
                    sooner(self.down_progress.moved_at + between, Cause::ServerBodyTimeout)
                }
                RelayWait::Client => sooner(
                    self.down_progress.moved_at + settings.client_between_bytes(&service.config),
                    Cause::ClientReadTimeout,
                ),
                RelayWait::Nobody => {}
            }
        }
        if self.context.worker.rt.now() >= until {
            return Poll::Ready(Err(self.fault(cause)));
        }
        self.context.worker.rt.wake_at(until);
        Poll::Pending
    }
}
