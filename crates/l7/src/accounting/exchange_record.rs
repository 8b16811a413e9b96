//! The record of one exchange.
//!
//! The exchange fills in the record; the counters and the access log read it. The only computation is durations between
//! times.

use std::time::Duration;

use model::cause::Cause;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::{ExchangeTrace, WaitReason};

use crate::accounting::meter::TransferTotals;

use super::exchange_sample::ExchangeSample;
use super::id::{RequestId, RequestIds};

/// The facts of one exchange, or of one `tcp` connection. An event that did not occur is `None`.
#[derive(Clone, Debug)]
pub struct ExchangeRecord {
    /// The request's first byte arrived; for `tcp`: the connection was accepted.
    pub begun_at: MonotonicTime,
    /// The request's head was complete.
    pub head_at: MonotonicTime,
    /// The exchange started to wait for a server below its connection cap.
    pub queue_begin: Option<MonotonicTime>,
    pub queue_end: Option<MonotonicTime>,
    /// The last attempt started to connect; `None` if it used an idle connection.
    pub connect_begin: Option<MonotonicTime>,
    /// The last attempt was connected.
    pub connect_end: Option<MonotonicTime>,
    /// The request's last byte was sent to the server.
    pub request_sent: Option<MonotonicTime>,
    /// The response's first byte arrived.
    pub first_byte: Option<MonotonicTime>,
    /// The response's last byte was sent, or the exchange was aborted.
    pub ended_at: Option<MonotonicTime>,
    /// The status sent to the client; 0: none.
    pub status: u16,
    /// The status of the error in whose place a page was sent.
    pub replaced_status: Option<u16>,
    /// The response, if any, is a local reply.
    pub local_reply: bool,
    /// The server of the last attempt.
    pub server: Option<ServerId>,
    /// The last attempt used an idle connection.
    pub reused: bool,
    pub attempts: u32,
    /// Bytes received from the client, including the head.
    pub bytes_from_client: u64,
    pub bytes_to_client: u64,
    /// Bytes sent to servers in all attempts.
    pub bytes_to_server: u64,
    /// Bytes received from servers in all attempts.
    pub bytes_from_server: u64,
    /// The cause of a failure; `None`: success.
    pub cause: Option<Cause>,
    /// The name of the `wire` defect that the request or response had.
    pub defect: Option<&'static str>,
    /// Additional measurements.
    pub sample: ExchangeSample,
    id: Option<RequestId>,
    /// Queue time of earlier attempts.
    queued_before: Duration,
}

impl ExchangeRecord {
    pub fn begin(begun: MonotonicTime, head: MonotonicTime) -> ExchangeRecord {
        ExchangeRecord {
            begun_at: begun,
            head_at: head,
            queue_begin: None,
            queue_end: None,
            connect_begin: None,
            connect_end: None,
            request_sent: None,
            first_byte: None,
            ended_at: None,
            status: 0,
            replaced_status: None,
            local_reply: false,
            server: None,
            reused: false,
            attempts: 1,
            bytes_from_client: 0,
            bytes_to_client: 0,
            bytes_to_server: 0,
            bytes_from_server: 0,
            cause: None,
            defect: None,
            sample: ExchangeSample::default(),
            id: None,
            queued_before: Duration::ZERO,
        }
    }

    /// Resets the values of the last attempt before another one.
    pub fn begin_retry(&mut self) {
        self.queued_before = self.queue_time().unwrap_or_default();
        self.attempts = self.attempts.saturating_add(1);
        self.queue_begin = None;
        self.queue_end = None;
        self.connect_begin = None;
        self.connect_end = None;
        self.request_sent = None;
        self.first_byte = None;
        self.server = None;
        self.reused = false;
        self.status = 0;
        self.sample.attempt = None;
        self.sample.server_baseline_taken = false;
        self.sample.request_end = None;
        self.sample.server_group = None;
    }

    /// Adds the bytes of an attempt or a tunnel.
    pub fn add_transfer(&mut self, moved: &TransferTotals) {
        self.bytes_from_client += moved.from_client;
        self.bytes_to_client += moved.to_client;
        self.bytes_from_server += moved.from_server;
        self.bytes_to_server += moved.to_server;
    }

    /// The request id, created by the first call.
    pub fn id(&mut self, ids: &RequestIds) -> RequestId {
        *self.id.get_or_insert_with(|| ids.next_id())
    }

    /// Sets the request id, which was made before.
    pub fn set_id(&mut self, id: RequestId) {
        self.id = Some(id);
    }

    /// Makes the exchange part of a trace: its span id becomes the request id. A sampled trace also samples the
    /// exchange.
    pub fn join_trace(&mut self, traced: ExchangeTrace, span: RequestId) {
        self.id = Some(span);
        self.sample.trace = Some(traced);
        self.sample.sampled |= traced.sampled;
    }

    /// The request id, if there is one.
    pub fn known_id(&self) -> Option<RequestId> {
        self.id
    }

    /// The status for counters and objectives: that of the error, also where a page has another.
    pub fn counted_status(&self) -> u16 {
        self.replaced_status.unwrap_or(self.status)
    }

    /// Sets the end time, unless it is set already.
    pub fn close(&mut self, now: MonotonicTime) {
        self.ended_at.get_or_insert(now);
    }

    /// Time in the queue for a server below its cap, over all attempts; `None` if the exchange never queued.
    pub fn queue_time(&self) -> Option<Duration> {
        let this = self
            .queue_begin
            .and_then(|begin| self.queue_end.or(self.ended_at).map(|end| end.since(begin)));
        match this {
            Some(this) => Some(this + self.queued_before),
            None => (!self.queued_before.is_zero()).then_some(self.queued_before),
        }
    }

    /// Time in which a service was asked whether the request may pass; `None`: none was.
    pub fn auth_time(&self) -> Option<Duration> {
        let nanos = self.sample.awaited.total(WaitReason::AuthAnswer);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }

    /// Connect time of the last attempt.
    pub fn connect_time(&self) -> Option<Duration> {
        span(self.connect_begin, self.connect_end)
    }

    /// Like `connect_time`, but a failed connect counts until the end of the exchange.
    pub fn connect_time_or_end(&self) -> Option<Duration> {
        span(self.connect_begin, self.connect_end.or(self.ended_at))
    }

    /// From having a connection to the server until the request's last byte was sent.
    pub fn send_time(&self) -> Option<Duration> {
        span(self.sample.attempt, self.request_sent)
    }

    /// From the request's last byte to the response's first; zero if the response came first.
    pub fn server_time(&self) -> Option<Duration> {
        span(self.request_sent, self.first_byte)
    }

    /// From the response's first byte to its last.
    pub fn transfer_time(&self) -> Option<Duration> {
        span(self.first_byte, self.ended_at)
    }

    /// From the request's first byte to the end.
    pub fn request_time(&self) -> Option<Duration> {
        span(Some(self.begun_at), self.ended_at)
    }

    /// Like `request_time`, plus the connection setup for the connection's first exchange.
    pub fn total_time(&self) -> Duration {
        self.setup_time() + self.request_time().unwrap_or_default()
    }

    /// Until the response's first byte, including the connection setup; `None` without a response.
    pub fn time_to_answer(&self) -> Option<Duration> {
        span(Some(self.begun_at), self.first_byte).map(|answer| self.setup_time() + answer)
    }

    fn setup_time(&self) -> Duration {
        let opening = self.sample.connection_setup.unwrap_or_default();
        opening.accept + opening.tls.unwrap_or_default()
    }
}

fn span(from: Option<MonotonicTime>, to: Option<MonotonicTime>) -> Option<Duration> {
    Some(to?.since(from?))
}
