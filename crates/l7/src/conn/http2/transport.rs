//! A worker's connection as what the library reads from and writes to.
//!
//! What is written is gathered and goes out when the library's turn is over (`flush`), so that the frames of many
//! streams share a system call and, under TLS, a record. What is read in one turn is bounded, so that one connection
//! does not keep the others waiting. It knows no frames.

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

/// Bytes gathered before the library must wait.
const GATHERED: usize = 64 * 1024;

/// Bytes read in one turn.
const TURN: usize = 128 * 1024;

/// Bytes read at a time.
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
    /// Reading stopped for others.
    more: bool,
}

impl<N: NetDriver> Http2Wire<N> {
    /// Over this connection, of which `early` was read already.
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

    /// The library's end of it.
    pub fn transport(self: &Rc<Self>) -> Http2Transport<N> {
        Http2Transport(self.clone())
    }

    pub fn begin_turn(&self) {
        let mut state = self.state.borrow_mut();
        state.read_budget = TURN;
        state.more = false;
    }

    /// Whether more may be read than this turn allowed.
    pub fn wants_turn(&self) -> bool {
        self.state.borrow().more
    }

    /// Bytes that wait for the peer.
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
            // An idle connection holds no buffer.
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
        // At the end of the turn.
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
