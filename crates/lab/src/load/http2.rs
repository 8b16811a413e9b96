//! One HTTP/2 connection of the load generator, without its socket, with one request at a time on each stream.
//!
//! The HTTP/2 library reads and writes bytes in memory. It is polled after every received byte instead of by readiness.
//! This module reads no clock and repeats no request that the server may have processed.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use http::{Method, Request, Uri};

use super::fail::FailureCause;
use super::memory_pipe::MemoryPipe;
use super::request_mix::{RequestField, RequestTemplate};
use super::response::{ReceivedBody, ResponseProgress, StreamProgress};

use stream::Http2ClientStream;

mod stream;

#[derive(Debug)]
pub struct Http2Client {
    session: Option<Http2Session>,
    streams: Vec<Http2ClientStream>,
    secure: bool,
    /// No further requests are sent on this connection.
    draining: bool,
    out: Vec<u8>,
    written: usize,
}

#[derive(Debug)]
struct Http2Session {
    wire: MemoryPipe,
    connection: Connection<MemoryPipe, Bytes>,
    send: SendRequest<Bytes>,
}

impl Http2Client {
    /// A client without a connection, for `streams` concurrent requests; `secure`: over TLS.
    pub fn new(secure: bool, streams: usize) -> Http2Client {
        let streams = (0..streams).map(|_| Http2ClientStream::default()).collect();
        Http2Client { session: None, streams, secure, draining: false, out: Vec::new(), written: 0 }
    }

    /// Sends a request with index `which` in the mix. If there is no usable connection, the request waits for
    /// `start_connection`.
    pub fn send_request(&mut self, stream: usize, which: usize, shot: &RequestTemplate) {
        self.streams[stream].queue_request(which, build_request(shot, self.secure), shot);
        if self.session.is_some() {
            self.begin_stream(stream);
        }
    }

    /// Starts a new connection and sends the queued requests on it.
    pub fn start_connection(&mut self) {
        self.on_closed();
        let wire = MemoryPipe::default();
        let mut builder = Builder::new();
        let at_a_time = u32::try_from(self.streams.len()).unwrap_or(u32::MAX).min(MOST_WINDOWS);
        builder
            .enable_push(false)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW * at_a_time);
        let mut handshake = Box::pin(builder.handshake::<_, Bytes>(wire.clone()));
        // The handshake future never waits in memory, so one poll completes it.
        if let Poll::Ready(Ok((send, connection))) = handshake.as_mut().poll(&mut context()) {
            self.session = Some(Http2Session { wire, connection, send });
        }
        for stream in 0..self.streams.len() {
            self.begin_stream(stream);
        }
        if !self.poll_connection() {
            self.session = None;
        }
    }

    /// The connection has closed. Queued and new requests wait for the next one.
    pub fn on_closed(&mut self) {
        self.streams.iter_mut().for_each(Http2ClientStream::cancel);
        self.session = None;
        self.draining = false;
        self.out.clear();
        self.written = 0;
    }

    /// Sends no further requests on this connection.
    pub fn stop_reusing(&mut self) {
        self.draining = true;
    }

    /// Whether the connection has no work left; queued requests need another connection.
    pub fn is_finished(&self) -> bool {
        let gone = self.session.is_none() || self.draining;
        gone && !self.streams.iter().any(Http2ClientStream::is_in_flight)
    }

    /// Whether the stream's request is in flight on this connection.
    pub fn is_in_flight(&self, stream: usize) -> bool {
        self.streams[stream].is_in_flight()
    }

    /// Whether the whole request was sent.
    pub fn is_sent(&self, stream: usize) -> bool {
        self.pending().is_empty() && self.streams[stream].is_fully_sent()
    }

    /// Whether the head of the current response has arrived.
    pub fn has_begun(&self, stream: usize) -> bool {
        self.streams[stream].has_begun()
    }

    /// Index in the mix of the last request.
    pub fn request_kind(&self, stream: usize) -> usize {
        self.streams[stream].request_kind()
    }

    pub fn body(&self, stream: usize) -> ReceivedBody {
        self.streams[stream].body()
    }

    /// Abandons one request; the others continue.
    pub fn abandon_stream(&mut self, stream: usize) {
        self.streams[stream].reset();
        if self.session.is_some() && !self.poll_connection() {
            self.draining = true;
        }
    }

    /// Bytes to be sent.
    pub fn pending(&self) -> &[u8] {
        &self.out[self.written..]
    }

    /// Removes sent bytes from the pending ones.
    pub fn on_written(&mut self, bytes: usize) {
        self.written = (self.written + bytes).min(self.out.len());
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Processes received bytes and appends the progress of each stream to `settled`.
    pub fn on_received(&mut self, bytes: &[u8], settled: &mut Vec<StreamProgress>) {
        if let Some(open) = &self.session {
            open.wire.receive(bytes);
        }
        while self.poll_connection() {
            if !self.drive_streams(settled) {
                return;
            }
        }
        self.drive_streams(settled);
        // The connection is unusable, so requests still on it have failed.
        self.session = None;
        for (number, stream) in self.streams.iter_mut().enumerate() {
            if stream.is_in_flight() {
                stream.reset();
                let progress = ResponseProgress::Failed(FailureCause::BadAnswer);
                settled.push(StreamProgress { stream: number, progress });
            }
        }
    }

    /// Processes bytes received without a request, such as SETTINGS, PING or GOAWAY. Returns whether the connection is
    /// still usable.
    pub fn on_idle_bytes(&mut self, bytes: &[u8]) -> bool {
        self.on_received(bytes, &mut Vec::new());
        !self.is_finished()
    }

    fn begin_stream(&mut self, stream: usize) {
        let (Some(open), false) = (&mut self.session, self.draining) else { return };
        // A `SendRequest` handle is not ready while its own last stream waits to be opened. A clone does not wait, and the
        // library still enforces the peer's stream limit.
        let mut send = open.send.clone();
        if let Poll::Ready(Err(_)) = send.poll_ready(&mut context()) {
            self.draining = true;
            return;
        }
        self.streams[stream].send_queued(&mut send);
        // Sending the head makes room for more of the body.
        let mut alive = self.poll_connection();
        while alive && self.streams[stream].send_body() {
            alive = self.poll_connection();
        }
        self.draining |= !alive;
    }

    /// Continues every stream that the library has woken; returns whether there was one.
    fn drive_streams(&mut self, settled: &mut Vec<StreamProgress>) -> bool {
        let mut any = false;
        for (number, stream) in self.streams.iter_mut().enumerate() {
            if stream.is_woken() {
                any = true;
                match stream.drive() {
                    ResponseProgress::NeedMore => {}
                    progress => {
                        self.draining |= progress == ResponseProgress::Unprocessed;
                        settled.push(StreamProgress { stream: number, progress });
                    }
                }
            }
        }
        any
    }

    /// Lets the library process received bytes, and collects its output. Returns whether the connection is still
    /// usable.
    fn poll_connection(&mut self) -> bool {
        let Some(open) = &mut self.session else { return false };
        let alive = Pin::new(&mut open.connection).poll(&mut context()).is_pending();
        self.out.append(&mut open.wire.take_output());
        alive
    }
}

fn build_request(shot: &RequestTemplate, secure: bool) -> Request<()> {
    let scheme = if secure { "https" } else { "http" };
    let uri = Uri::builder().scheme(scheme).authority(&*shot.host).path_and_query(&*shot.target);
    let method = Method::from_bytes(shot.method.as_bytes()).unwrap_or(Method::GET);
    let mut builder = Request::builder().method(method).uri(uri.build().unwrap_or_default());
    for RequestField { name, value } in &shot.fields {
        builder = builder.header(name.as_str(), value.as_str());
    }
    if !shot.body.is_empty() {
        builder = builder.header("content-length", shot.body.len());
    }
    // `check` has validated the mix, so the request is valid; the default is never used.
    builder.body(()).unwrap_or_default()
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Flow-control window of each stream, bytes.
const WINDOW: u32 = 1 << 20;
/// A connection's window is the sum of its streams' windows, at most this many.
/// 64 MiB are more than any path under test holds.
const MOST_WINDOWS: u32 = 64;

#[cfg(test)]
mod tests;
