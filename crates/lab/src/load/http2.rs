//! One connection of HTTP/2 of the load generator, without its socket: a request at a time, as on a connection of HTTP/1.1.
//!
//! The library drives bytes in memory; readiness is not asked for, every byte that comes polls it. It keeps no time and
//! never repeats a request.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::RecvStream;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use http::{Method, Request, Uri};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::answer::Progress;
use super::fail::Fail;
use super::find::Find;
use super::mix::Shot;

/// A connection's state.
#[derive(Debug)]
pub struct Http2 {
    open: Option<Open>,
    /// What is asked once the connection is there.
    waiting: Option<Request<Bytes>>,
    text: Option<Find>,
    exchange: Exchange,
    status: u16,
    body_bytes: u64,
    began: bool,
    secure: bool,
    out: Vec<u8>,
    written: usize,
}

#[derive(Debug)]
struct Open {
    wire: Wire,
    connection: Connection<Wire, Bytes>,
    send: SendRequest<Bytes>,
}

#[derive(Debug)]
enum Exchange {
    None,
    Head(ResponseFuture),
    Body(RecvStream),
    Failed,
}

/// Bytes of both directions, shared with the library.
#[derive(Clone, Debug, Default)]
struct Wire(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    came: VecDeque<u8>,
    to_send: Vec<u8>,
}

impl Http2 {
    /// Before its first connection; `secure`: over TLS.
    pub fn new(secure: bool) -> Http2 {
        Http2 {
            open: None,
            waiting: None,
            text: None,
            exchange: Exchange::None,
            status: 0,
            body_bytes: 0,
            began: false,
            secure,
            out: Vec::new(),
            written: 0,
        }
    }

    /// Asks; on a connection that is not there yet `renewed` follows.
    pub fn ask(&mut self, shot: &Shot) {
        (self.status, self.body_bytes, self.began) = (0, 0, false);
        self.text = shot.expect.text.as_ref().map(Find::new);
        self.waiting = Some(request(shot, self.secure));
        if self.open.is_some() {
            self.begin();
        }
    }

    /// The connection is a new one: what waits is asked on it.
    pub fn renewed(&mut self) {
        self.closed();
        let wire = Wire::default();
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW);
        let mut handshake = Box::pin(builder.handshake::<_, Bytes>(wire.clone()));
        // In memory nothing is waited for.
        if let Poll::Ready(Ok((send, connection))) = handshake.as_mut().poll(&mut context()) {
            self.open = Some(Open { wire, connection, send });
        }
        self.begin();
    }

    /// The connection is there no more: what is asked next waits for another.
    pub fn closed(&mut self) {
        (self.open, self.exchange) = (None, Exchange::None);
        self.out.clear();
        self.written = 0;
    }

    /// Whether a byte of the current answer has come.
    pub fn began(&self) -> bool {
        self.began
    }

    /// Bytes of the answer's body, and whether it held the text that was expected.
    pub fn body(&self) -> (u64, bool) {
        (self.body_bytes, self.text.as_ref().is_none_or(Find::is_found))
    }

    /// What is to be sent.
    pub fn pending(&self) -> &[u8] {
        &self.out[self.written..]
    }

    /// So much of it was sent.
    pub fn wrote(&mut self, bytes: usize) {
        self.written = (self.written + bytes).min(self.out.len());
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Bytes came.
    pub fn received(&mut self, bytes: &[u8]) -> Progress {
        if let Some(open) = &self.open {
            open.wire.held().came.extend(bytes);
        }
        self.turn()
    }

    /// Bytes came while nothing was asked: settings, pings, or the peer's farewell. Whether the connection can go on.
    pub fn idle(&mut self, bytes: &[u8]) -> bool {
        self.exchange = Exchange::None;
        !matches!(self.received(bytes), Progress::Failed(_)) && self.open.is_some()
    }

    fn begin(&mut self) {
        let Some(request) = self.waiting.take() else { return };
        self.exchange = Exchange::Failed;
        let Some(open) = &mut self.open else { return };
        let (head, body) = request.into_parts();
        let sent = open.send.send_request(Request::from_parts(head, ()), body.is_empty());
        if let Ok((answer, mut stream)) = sent
            && (body.is_empty() || stream.send_data(body, true).is_ok())
        {
            self.exchange = Exchange::Head(answer);
        }
        // What this leads to is told with the next bytes; a connection that ends meanwhile tells so itself.
        let _ = self.turn();
    }

    /// Lets the library work on what came, and takes what it wants to send.
    fn turn(&mut self) -> Progress {
        let mut alive = self.poll();
        let mut progress = self.exchanged();
        if alive {
            // Bytes that were read make room, which the peer is told.
            alive = self.poll();
        }
        if !alive {
            self.open = None;
            progress = match progress {
                Progress::More if matches!(self.exchange, Exchange::None) => Progress::More,
                Progress::More => Progress::Failed(Fail::BadAnswer),
                Progress::Whole { status, .. } => Progress::Whole { status, reusable: false },
                failed @ Progress::Failed(_) => failed,
            };
        }
        progress
    }

    /// Whether the connection can carry more.
    fn poll(&mut self) -> bool {
        let Some(open) = &mut self.open else { return false };
        let alive = Pin::new(&mut open.connection).poll(&mut context()).is_pending();
        self.out.append(&mut open.wire.held().to_send);
        alive
    }

    fn exchanged(&mut self) -> Progress {
        loop {
            match &mut self.exchange {
                Exchange::None => return Progress::More,
                Exchange::Failed => return Progress::Failed(Fail::WrongAnswer),
                Exchange::Head(answer) => match Pin::new(answer).poll(&mut context()) {
                    Poll::Pending => return Progress::More,
                    Poll::Ready(Err(_)) => return self.failed(),
                    Poll::Ready(Ok(answer)) => {
                        self.began = true;
                        self.status = answer.status().as_u16();
                        self.exchange = Exchange::Body(answer.into_body());
                    }
                },
                Exchange::Body(body) => match body.poll_data(&mut context()) {
                    Poll::Pending => return Progress::More,
                    Poll::Ready(Some(Ok(bytes))) => {
                        // Refused only where more is given back than came.
                        let _ = body.flow_control().release_capacity(bytes.len());
                        self.body_bytes += bytes.len() as u64;
                        if let Some(text) = &mut self.text {
                            text.feed(&bytes);
                        }
                    }
                    Poll::Ready(Some(Err(_))) => return self.failed(),
                    Poll::Ready(None) => {
                        self.exchange = Exchange::None;
                        return Progress::Whole { status: self.status, reusable: true };
                    }
                },
            }
        }
    }

    fn failed(&mut self) -> Progress {
        self.exchange = Exchange::None;
        Progress::Failed(Fail::BadAnswer)
    }
}

fn request(shot: &Shot, secure: bool) -> Request<Bytes> {
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
    builder.body(Bytes::copy_from_slice(&shot.body)).unwrap_or_default()
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

impl Wire {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut held = self.held();
        if held.came.is_empty() {
            return Poll::Pending;
        }
        let (first, _) = held.came.as_slices();
        let many = first.len().min(into.remaining());
        into.put_slice(&first[..many]);
        held.came.drain(..many);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.held().to_send.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Of a connection and of each of its streams: a megabyte under way.
const WINDOW: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_waits_in_memory_and_garbage_is_no_answer() {
        let mut client = Http2::new(false);
        client.ask(&Shot::get("shop.example", "/"));
        client.renewed();
        assert!(client.pending().starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        client.closed();
        client.ask(&Shot::get("shop.example", "/again"));
        assert!(client.pending().is_empty(), "it waits for the next connection");
        client.renewed();
        assert!(client.pending().starts_with(b"PRI * "));
        let many = client.pending().len();
        client.wrote(many);
        assert!(client.pending().is_empty() && !client.began());
        let answer = client.received(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        assert!(matches!(answer, Progress::Failed(_)), "{answer:?}");
    }

    #[test]
    fn an_idle_connection_lives_through_pings_and_ends_with_a_farewell() {
        let mut client = Http2::new(false);
        client.renewed();
        // SETTINGS without any, and a PING (RFC 9113 sections 6.5 and 6.7).
        assert!(client.idle(b"\0\0\0\x04\0\0\0\0\0"));
        client.wrote(client.pending().len());
        assert!(client.idle(b"\0\0\x08\x06\0\0\0\0\0abcdefgh"));
        assert!(client.pending().ends_with(b"abcdefgh"), "it is answered");
        // GOAWAY: no stream, no error (section 6.8).
        assert!(!client.idle(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    }
}
