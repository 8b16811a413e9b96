//! Adapts a worker's connection to the I/O interface of the HTTP/2 library.
//!
//! Output is gathered and sent when the library's turn ends (`flush`), so that the frames of many streams share a
//! system call and, under TLS, a record. The bytes read in one turn are limited, so that one connection does not delay
//! the others. Frames are not interpreted.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use model::time_attribution::TcpInfoSample;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::{Http2Connection, LowerTransport};
use crate::conn::stream::{ProxyStream, StreamReadResult, StreamWriteResult};
use crate::rt::NetDriver;

/// Most gathered bytes before the library must wait.
/// One write of a large socket buffer; more would only wait in memory.
const GATHERED: usize = 64 * 1024;

/// Most bytes read in one turn.
/// Eight reads, then other connections of the worker have their turn.
const TURN: usize = 128 * 1024;

/// Most bytes per read.
/// One frame of the default size (RFC 9113 §4.2).
const PIECE: usize = 16 * 1024;

pub struct Http2Transport<N: NetDriver>(Rc<Http2Wire<N>>);

pub struct Http2Wire<N: NetDriver> {
    pub stream: ProxyStream<N>,
    connection: Rc<Http2Connection>,
    state: RefCell<WireBuffers>,
}

struct WireBuffers {
    /// Bytes received before the library was set up.
    early_input: Vec<u8>,
    out: Vec<u8>,
    at: usize,
    /// Bytes that may still be read in this turn.
    read_budget: usize,
    /// Reading stopped at the limit of this turn.
    more: bool,
}

impl<N: NetDriver> Http2Wire<N> {
    /// A transport over this connection, from which `early` was already read.
    pub fn new(
        stream: ProxyStream<N>,
        link: Rc<Http2Connection>,
        early: Vec<u8>,
    ) -> Rc<Http2Wire<N>> {
        let state = WireBuffers {
            early_input: early,
            out: Vec::new(),
            at: 0,
            read_budget: TURN,
            more: false,
        };
        let wire = Rc::new(Http2Wire { stream, connection: link, state: RefCell::new(state) });
        let below: Rc<dyn LowerTransport> = wire.clone();
        wire.connection.set_lower(Rc::downgrade(&below));
        wire
    }

    /// The I/O object for the library.
    pub fn transport(self: &Rc<Self>) -> Http2Transport<N> {
        Http2Transport(self.clone())
    }

    pub fn begin_turn(&self) {
        let mut state = self.state.borrow_mut();
        state.read_budget = TURN;
        state.more = false;
    }

    /// Whether reading stopped at the limit of this turn.
    pub fn wants_turn(&self) -> bool {
        self.state.borrow().more
    }

    /// Bytes that are gathered for the peer.
    pub fn pending_bytes(&self) -> usize {
        let state = self.state.borrow();
        state.out.len() - state.at
    }

    /// Writes the gathered bytes; `Ready`: all of them were written.
    pub fn flush(&self) -> Poll<io::Result<()>> {
        let mut state = self.state.borrow_mut();
        while state.at < state.out.len() {
            match self.stream.try_write(&state.out[state.at..]) {
                StreamWriteResult::Bytes(n) => state.at += n,
                StreamWriteResult::WouldBlock => return Poll::Pending,
                StreamWriteResult::Failed(error) => return Poll::Ready(Err(error)),
            }
        }
        state.at = 0;
        state.out.clear();
        self.connection.output_taken();
        if self.connection.open.get() == 0 {
            // Frees the buffer: an idle connection holds none.
            state.out = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<N: NetDriver> LowerTransport for Http2Wire<N> {
    fn counters(&self) -> Option<TcpInfoSample> {
        self.stream.counters()
    }

    fn port(&self) -> Option<u16> {
        self.stream.local_port()
    }
}

impl<N: NetDriver> AsyncRead for Http2Transport<N> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = &self.0;
        let mut state = wire.state.borrow_mut();
        if !state.early_input.is_empty() {
            let n = state.early_input.len().min(into.remaining());
            into.put_slice(&state.early_input[..n]);
            wire.connection.received(&state.early_input[..n]);
            state.early_input.drain(..n);
            return Poll::Ready(Ok(()));
        }
        let most = into.remaining().min(state.read_budget).min(PIECE);
        if most == 0 {
            state.more = true;
            return Poll::Pending;
        }
        match wire.stream.try_read(into.initialize_unfilled_to(most)) {
            StreamReadResult::Data(n) => {
                let from = into.filled().len();
                into.advance(n);
                wire.connection.received(&into.filled()[from..]);
                state.read_budget -= n;
                Poll::Ready(Ok(()))
            }
            StreamReadResult::WouldBlock => Poll::Pending,
            StreamReadResult::End => Poll::Ready(Ok(())),
            StreamReadResult::Failed(error) => Poll::Ready(Err(error)),
        }
    }
}

impl<N: NetDriver> AsyncWrite for Http2Transport<N> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = &self.0;
        if wire.pending_bytes() >= GATHERED
            && let Poll::Ready(Err(error)) = wire.flush()
        {
            return Poll::Ready(Err(error));
        }
        let room = GATHERED.saturating_sub(wire.pending_bytes());
        if room == 0 {
            return Poll::Pending;
        }
        let n = from.len().min(room);
        wire.connection.sent(&from[..n]);
        wire.state.borrow_mut().out.extend_from_slice(&from[..n]);
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The bytes are sent at the end of the turn.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.0.flush();
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.0.stream.end();
        }
        flushed
    }
}
