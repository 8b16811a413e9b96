//! The facts of one exchange.
//!
//! Filled in by the exchange, read by `close` and `line`. It computes times from moments and nothing else.

use std::time::Duration;

use model::attribute::Traced;
use model::cause::Cause;
use model::id::ServerId;
use model::moment::Moment;

use crate::meter::Moved;

use super::id::{Id, Ids};
use super::measured::Measured;

/// The facts of one exchange, or of one `tcp` connection. A moment that did not come is `None`.
#[derive(Clone, Debug)]
pub struct Record {
    /// The request's first byte was there; for `tcp`, the connection was accepted.
    pub begun: Moment,
    /// The request's head was complete.
    pub head: Moment,
    /// It began to wait for a server below its cap.
    pub queue_begin: Option<Moment>,
    /// It had one.
    pub queue_end: Option<Moment>,
    /// The last attempt began to connect; `None` when it used a shelved connection.
    pub connect_begin: Option<Moment>,
    /// The last attempt was connected.
    pub connect_end: Option<Moment>,
    /// The request's last byte was sent to the server.
    pub request_sent: Option<Moment>,
    /// The answer's first byte was there.
    pub first_byte: Option<Moment>,
    /// The answer's last byte was sent, or the exchange was given up.
    pub done: Option<Moment>,
    /// The status that the client got; 0: none.
    pub status: u16,
    /// The answer, if any, was made by us.
    pub by_us: bool,
    /// The server of the last attempt.
    pub server: Option<ServerId>,
    /// The last attempt used a shelved connection.
    pub reused: bool,
    /// Attempts, replays included.
    pub attempts: u32,
    /// Bytes received from the client, head included.
    pub bytes_from_client: u64,
    /// Bytes sent to the client.
    pub bytes_to_client: u64,
    /// Bytes sent to servers, in all attempts.
    pub bytes_to_server: u64,
    /// Bytes received from servers, in all attempts.
    pub bytes_from_server: u64,
    /// Why it did not end well; `None`: it did.
    pub cause: Option<Cause>,
    /// The rule of grammar that was broken, by `wire`'s name.
    pub defect: Option<&'static str>,
    /// What is measured beside.
    pub measured: Measured,
    id: Option<Id>,
    /// Waiting of earlier attempts.
    queued_before: Duration,
}

impl Record {
    /// Opens an account.
    pub fn begin(begun: Moment, head: Moment) -> Record {
        Record {
            begun,
            head,
            queue_begin: None,
            queue_end: None,
            connect_begin: None,
            connect_end: None,
            request_sent: None,
            first_byte: None,
            done: None,
            status: 0,
            by_us: false,
            server: None,
            reused: false,
            attempts: 1,
            bytes_from_client: 0,
            bytes_to_client: 0,
            bytes_to_server: 0,
            bytes_from_server: 0,
            cause: None,
            defect: None,
            measured: Measured::default(),
            id: None,
            queued_before: Duration::ZERO,
        }
    }

    /// Another attempt follows: what belongs to the last one alone is forgotten.
    pub fn again(&mut self) {
        self.queued_before = self.queued().unwrap_or_default();
        self.attempts = self.attempts.saturating_add(1);
        (self.queue_begin, self.queue_end) = (None, None);
        (self.connect_begin, self.connect_end) = (None, None);
        (self.request_sent, self.first_byte) = (None, None);
        (self.server, self.reused, self.status) = (None, false, 0);
        (self.measured.attempt, self.measured.server_marked) = (None, false);
        self.measured.server_group = None;
    }

    /// Adds what an attempt or a tunnel moved.
    pub fn add(&mut self, moved: &Moved) {
        self.bytes_from_client += moved.from_client;
        self.bytes_to_client += moved.to_client;
        self.bytes_from_server += moved.from_server;
        self.bytes_to_server += moved.to_server;
    }

    /// Its id: made when first asked for, the same from then on.
    pub fn id(&mut self, ids: &Ids) -> Id {
        *self.id.get_or_insert_with(|| ids.next())
    }

    /// It is part of a trace, and this is its span: the id from now on. What is recorded is measured.
    pub fn trace(&mut self, traced: Traced, span: Id) {
        self.id = Some(span);
        self.measured.traced = Some(traced);
        self.measured.drawn |= traced.sampled;
    }

    /// Its id, if it was ever asked for.
    pub fn known_id(&self) -> Option<Id> {
        self.id
    }

    /// Nothing more comes. Keeps an end that is set already.
    pub fn close(&mut self, now: Moment) {
        self.done.get_or_insert(now);
    }

    /// Waiting for a server below its cap, over all attempts; `None` if it never did.
    pub fn queued(&self) -> Option<Duration> {
        let this = self
            .queue_begin
            .and_then(|begin| self.queue_end.or(self.done).map(|end| end.since(begin)));
        match this {
            Some(this) => Some(this + self.queued_before),
            None => (!self.queued_before.is_zero()).then_some(self.queued_before),
        }
    }

    /// Connecting, in the last attempt.
    pub fn connecting(&self) -> Option<Duration> {
        span(self.connect_begin, self.connect_end)
    }

    /// The same, up to the end where it did not succeed.
    pub fn connecting_at_all(&self) -> Option<Duration> {
        span(self.connect_begin, self.connect_end.or(self.done))
    }

    /// From having a connection to a server to the request's last byte sent.
    pub fn sending(&self) -> Option<Duration> {
        span(self.measured.attempt, self.request_sent)
    }

    /// From the request's last byte to the answer's first; zero when the answer came before.
    pub fn thinking(&self) -> Option<Duration> {
        span(self.request_sent, self.first_byte)
    }

    /// From the answer's first byte to its last.
    pub fn transferring(&self) -> Option<Duration> {
        span(self.first_byte, self.done)
    }

    /// From the request's first byte to the end.
    pub fn whole(&self) -> Option<Duration> {
        span(Some(self.begun), self.done)
    }

    /// The same, and how its connection began where it was the first one of it.
    pub fn took(&self) -> Duration {
        self.opening() + self.whole().unwrap_or_default()
    }

    /// Likewise to the answer's first byte; `None` if there was none.
    pub fn took_to_answer(&self) -> Option<Duration> {
        span(Some(self.begun), self.first_byte).map(|answer| self.opening() + answer)
    }

    fn opening(&self) -> Duration {
        let opening = self.measured.opening.unwrap_or_default();
        opening.accept + opening.tls.unwrap_or_default()
    }
}

fn span(from: Option<Moment>, to: Option<Moment>) -> Option<Duration> {
    Some(to?.since(from?))
}
