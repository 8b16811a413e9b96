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

use model::attribute::Tcp;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::link::{Below, Link};
use crate::rt::Net;
use crate::stream::{Read, Stream, Wrote};

/// Bytes gathered before the library is told to wait.
const GATHERED: usize = 64 * 1024;

/// Bytes read in one turn.
const TURN: usize = 128 * 1024;

/// Bytes read at a time.
const PIECE: usize = 16 * 1024;

/// The library's end.
pub struct Carrier<N: Net>(Rc<Wire<N>>);

/// Our end.
pub struct Wire<N: Net> {
    /// The connection.
    pub stream: Stream<N>,
    link: Rc<Link>,
    state: RefCell<State>,
}

struct State {
    /// Came before the library was there.
    early: Vec<u8>,
    out: Vec<u8>,
    at: usize,
    /// What may still be read in this turn.
    left: usize,
    /// Reading stopped for others.
    more: bool,
}

impl<N: Net> Wire<N> {
    /// Over this connection, of which `early` was read already.
    pub fn new(stream: Stream<N>, link: Rc<Link>, early: Vec<u8>) -> Rc<Wire<N>> {
        let state = State { early, out: Vec::new(), at: 0, left: TURN, more: false };
        let wire = Rc::new(Wire { stream, link, state: RefCell::new(state) });
        let below: Rc<dyn Below> = wire.clone();
        wire.link.stands_on(Rc::downgrade(&below));
        wire
    }

    /// The library's end of it.
    pub fn carrier(self: &Rc<Self>) -> Carrier<N> {
        Carrier(self.clone())
    }

    /// A turn begins.
    pub fn begin(&self) {
        let mut state = self.state.borrow_mut();
        (state.left, state.more) = (TURN, false);
    }

    /// Whether more may be read than this turn allowed.
    pub fn wants_turn(&self) -> bool {
        self.state.borrow().more
    }

    /// Bytes that wait for the peer.
    pub fn waiting(&self) -> usize {
        let state = self.state.borrow();
        state.out.len() - state.at
    }

    /// Writes what was gathered; `Ready`: all of it.
    pub fn flush(&self) -> Poll<io::Result<()>> {
        let mut state = self.state.borrow_mut();
        while state.at < state.out.len() {
            match self.stream.try_write(&state.out[state.at..]) {
                Wrote::Bytes(n) => state.at += n,
                Wrote::Later => return Poll::Pending,
                Wrote::Failed(error) => return Poll::Ready(Err(error)),
            }
        }
        state.at = 0;
        state.out.clear();
        self.link.taken();
        if self.link.open.get() == 0 {
            // An idle connection keeps no buffer.
            state.out = Vec::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<N: Net> Below for Wire<N> {
    fn counters(&self) -> Option<Tcp> {
        self.stream.counters()
    }

    fn port(&self) -> Option<u16> {
        self.stream.port()
    }
}

impl<N: Net> AsyncRead for Carrier<N> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = &self.0;
        let mut state = wire.state.borrow_mut();
        if !state.early.is_empty() {
            let n = state.early.len().min(into.remaining());
            into.put_slice(&state.early[..n]);
            wire.link.received(&state.early[..n]);
            state.early.drain(..n);
            return Poll::Ready(Ok(()));
        }
        let most = into.remaining().min(state.left).min(PIECE);
        if most == 0 {
            state.more = true;
            return Poll::Pending;
        }
        match wire.stream.try_read(into.initialize_unfilled_to(most)) {
            Read::Data(n) => {
                let from = into.filled().len();
                into.advance(n);
                wire.link.received(&into.filled()[from..]);
                state.left -= n;
                Poll::Ready(Ok(()))
            }
            Read::Later => Poll::Pending,
            Read::End => Poll::Ready(Ok(())),
            Read::Failed(error) => Poll::Ready(Err(error)),
        }
    }
}

impl<N: Net> AsyncWrite for Carrier<N> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = &self.0;
        if wire.waiting() >= GATHERED
            && let Poll::Ready(Err(error)) = wire.flush()
        {
            return Poll::Ready(Err(error));
        }
        let room = GATHERED.saturating_sub(wire.waiting());
        if room == 0 {
            return Poll::Pending;
        }
        let n = from.len().min(room);
        wire.link.sent(&from[..n]);
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
