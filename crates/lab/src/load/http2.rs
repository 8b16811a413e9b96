//! One connection of HTTP/2 of the load generator, without its socket: up to so many requests at a time, each on a stream.
//!
//! The library drives bytes in memory; readiness is not asked for, every byte that comes polls it. It keeps no time and
//! repeats no request that may have been looked at.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use http::{Method, Request, Uri};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::fail::FailureCause;
use super::request_mix::RequestTemplate;
use super::response::ResponseProgress;

use stream::Http2ClientStream;

mod stream;

#[derive(Debug)]
pub struct Http2Client {
    session: Option<Http2Session>,
    streams: Vec<Http2ClientStream>,
    secure: bool,
    /// Nothing more is asked on this connection.
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

/// Bytes of both directions, shared with the library.
#[derive(Clone, Debug, Default)]
struct MemoryPipe(Arc<Mutex<PipeBuffers>>);

#[derive(Debug, Default)]
struct PipeBuffers {
    received: VecDeque<u8>,
    to_send: Vec<u8>,
}

impl Http2Client {
    /// Before its first connection, for so many requests at a time; `secure`: over TLS.
    pub fn new(secure: bool, streams: usize) -> Http2Client {
        let streams = (0..streams).map(|_| Http2ClientStream::default()).collect();
        Http2Client { session: None, streams, secure, draining: false, out: Vec::new(), written: 0 }
    }

    /// Asks, as number `which` of the mix; on a connection that is not there yet, or takes no more requests, `renewed`
    /// follows.
    pub fn send_request(&mut self, stream: usize, which: usize, shot: &RequestTemplate) {
        self.streams[stream].queue_request(which, build_request(shot, self.secure), shot);
        if self.session.is_some() {
            self.begin_stream(stream);
        }
    }

    /// The connection is a new one: what waits is asked on it.
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
        // In memory nothing is waited for.
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

    /// The connection is there no more: what is asked next, or waits, waits for another.
    pub fn on_closed(&mut self) {
        self.streams.iter_mut().for_each(Http2ClientStream::cancel);
        self.session = None;
        self.draining = false;
        self.out.clear();
        self.written = 0;
    }

    /// Nothing more is asked on this connection: it is not trusted.
    pub fn stop_reusing(&mut self) {
        self.draining = true;
    }

    /// Whether the connection has nothing more to do: what waits needs another one.
    pub fn is_finished(&self) -> bool {
        let gone = self.session.is_none() || self.draining;
        gone && !self.streams.iter().any(Http2ClientStream::is_in_flight)
    }

    /// Whether the request is on this connection.
    pub fn is_in_flight(&self, stream: usize) -> bool {
        self.streams[stream].is_in_flight()
    }

    /// Whether the whole request was sent.
    pub fn is_sent(&self, stream: usize) -> bool {
        self.pending().is_empty() && self.streams[stream].is_fully_sent()
    }

    /// Whether a byte of the current answer has come.
    pub fn has_begun(&self, stream: usize) -> bool {
        self.streams[stream].has_begun()
    }

    /// Which of the mix was asked last.
    pub fn request_kind(&self, stream: usize) -> usize {
        self.streams[stream].request_kind()
    }

    /// Bytes of the answer's body, and whether it held the text that was expected.
    pub fn body(&self, stream: usize) -> (u64, bool) {
        self.streams[stream].body()
    }

    /// The request is given up, the others go on.
    pub fn abandon_stream(&mut self, stream: usize) {
        self.streams[stream].reset();
        if self.session.is_some() && !self.poll_connection() {
            self.draining = true;
        }
    }

    /// What is to be sent.
    pub fn pending(&self) -> &[u8] {
        &self.out[self.written..]
    }

    /// So much of it was sent.
    pub fn on_written(&mut self, bytes: usize) {
        self.written = (self.written + bytes).min(self.out.len());
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Bytes came; what they led to is added by stream.
    pub fn on_received(&mut self, bytes: &[u8], settled: &mut Vec<(usize, ResponseProgress)>) {
        if let Some(open) = &self.session {
            open.wire.buffers().received.extend(bytes);
        }
        while self.poll_connection() {
            if !self.drive_streams(settled) {
                return;
            }
        }
        self.drive_streams(settled);
        // The connection can carry no more, and what is left on it will not be answered.
        self.session = None;
        for (number, stream) in self.streams.iter_mut().enumerate() {
            if stream.is_in_flight() {
                stream.reset();
                settled.push((number, ResponseProgress::Failed(FailureCause::BadAnswer)));
            }
        }
    }

    /// Bytes came while nothing was asked: settings, pings, or the peer's farewell. Whether the connection can go on.
    pub fn on_idle_bytes(&mut self, bytes: &[u8]) -> bool {
        self.on_received(bytes, &mut Vec::new());
        !self.is_finished()
    }

    fn begin_stream(&mut self, stream: usize) {
        let (Some(open), false) = (&mut self.session, self.draining) else { return };
        // A handle of its own: how many streams the peer allows is the library's to wait for.
        let mut send = open.send.clone();
        if let Poll::Ready(Err(_)) = send.poll_ready(&mut context()) {
            self.draining = true;
            return;
        }
        self.streams[stream].send_queued(&mut send);
        // The head goes out first, and what goes out makes room for more of the body.
        let mut alive = self.poll_connection();
        while alive && self.streams[stream].send_body() {
            alive = self.poll_connection();
        }
        self.draining |= !alive;
    }

    /// Lets every stream go on that the library has news for; whether there was one.
    fn drive_streams(&mut self, settled: &mut Vec<(usize, ResponseProgress)>) -> bool {
        let mut any = false;
        for (number, stream) in self.streams.iter_mut().enumerate() {
            if stream.is_woken() {
                any = true;
                match stream.drive() {
                    ResponseProgress::NeedMore => {}
                    progress => {
                        self.draining |= progress == ResponseProgress::Unprocessed;
                        settled.push((number, progress));
                    }
                }
            }
        }
        any
    }

    /// Lets the library work on what came, and takes what it wants to send. Whether the connection can carry more.
    fn poll_connection(&mut self) -> bool {
        let Some(open) = &mut self.session else { return false };
        let alive = Pin::new(&mut open.connection).poll(&mut context()).is_pending();
        self.out.append(&mut open.wire.buffers().to_send);
        alive
    }
}

fn build_request(shot: &RequestTemplate, secure: bool) -> Request<()> {
    let scheme = if secure { "https" } else { "http" };
    let uri = Uri::builder().scheme(scheme).authority(&*shot.host).path_and_query(&*shot.target);
    let method = Method::from_bytes(shot.method.as_bytes()).unwrap_or(Method::GET);
    let mut builder = Request::builder().method(method).uri(uri.build().unwrap_or_default());
    for (name, value) in &shot.fields {
        builder = builder.header(name.as_str(), value.as_str());
    }
    if !shot.body.is_empty() {
        builder = builder.header("content-length", shot.body.len());
    }
    // A mix that was checked makes no request that is none; whatever it is, it has no other body.
    builder.body(()).unwrap_or_default()
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

impl MemoryPipe {
    fn buffers(&self) -> MutexGuard<'_, PipeBuffers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for MemoryPipe {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut held = self.buffers();
        if held.received.is_empty() {
            return Poll::Pending;
        }
        let (first, _) = held.received.as_slices();
        let many = first.len().min(into.remaining());
        into.put_slice(&first[..many]);
        held.received.drain(..many);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MemoryPipe {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.buffers().to_send.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Of each stream: a megabyte under way.
const WINDOW: u32 = 1 << 20;
/// A connection has the windows of all its streams, at most of so many.
const MOST_WINDOWS: u32 = 64;

#[cfg(test)]
mod tests;
