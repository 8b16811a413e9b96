//! Connections to the control API and the metrics: how many at a time, and how long one may be silent or live.
//!
//! Who has a place is decided in `places`. Of HTTP it knows that a head comes before an answer.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use model::admission::Phase;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::lengths::Lengths;
use super::places::{Pass, Places, SHORT};

/// For a whole head on any listener of control.
pub const HEAD: Duration = Duration::from_secs(10);

/// For a whole body after that.
const BODY: Duration = Duration::from_secs(60);

/// How long a newcomer waits where all places are in use.
const TURN: Duration = Duration::from_secs(5);
/// How often it is looked whether one is free meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// What connections of one listener may do.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Connections at a time. At the limit one that does nothing is closed for a newcomer.
    pub connections: usize,
    /// For a whole head, from the connection's begin or the head's first byte.
    pub head: Duration,
    /// Silence in both directions until it is closed.
    pub silence: Duration,
    /// From its accept until it is closed in any case.
    pub life: Duration,
}

/// Addresses of clients, where they have any that tell them apart.
pub(crate) trait ClientAddress {
    /// The client's.
    fn ip(&self) -> Option<IpAddr>;
}

impl ClientAddress for SocketAddr {
    fn ip(&self) -> Option<IpAddr> {
        Some(SocketAddr::ip(self))
    }
}

impl ClientAddress for tokio::net::unix::SocketAddr {
    fn ip(&self) -> Option<IpAddr> {
        None
    }
}

/// A listener whose connections keep to terms.
pub(crate) struct Guarded<L> {
    listener: L,
    terms: Terms,
    places: Places,
}

impl<L> Guarded<L> {
    /// Around a listener.
    pub(crate) fn new(listener: L, terms: Terms, places: Places) -> Guarded<L> {
        Guarded { listener, terms, places }
    }
}

impl<L: axum::serve::Listener<Addr: ClientAddress>> axum::serve::Listener for Guarded<L> {
    type Io = Guard<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (io, address) = self.listener.accept().await;
            // Orders take their turns; those behind this one wait in the kernel's queue.
            let until = Instant::now() + TURN;
            while self.places.must_wait() && Instant::now() < until {
                sleep(LOOK).await;
            }
            // Whoever gets no place learns it: the connection is closed.
            if let Some(pass) = self.places.enter(address.ip()) {
                return (Guard::new(io, self.terms, pass), address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl<L: axum::serve::Listener<Addr: ClientAddress>> Connected<IncomingStream<'_, Guarded<L>>>
    for Pass
{
    fn connect_info(stream: IncomingStream<'_, Guarded<L>>) -> Pass {
        stream.io().pass.clone()
    }
}

/// A connection that ends with its terms.
#[derive(Debug)]
pub(crate) struct Guard<S> {
    io: S,
    terms: Terms,
    end: Instant,
    in_head: bool,
    head_since: Instant,
    moved: Instant,
    limit: Pin<Box<Sleep>>,
    lengths: Lengths,
    pass: Pass,
}

impl<S> Guard<S> {
    fn new(io: S, terms: Terms, pass: Pass) -> Guard<S> {
        let now = Instant::now();
        let end = now + if pass.is_short() { SHORT.min(terms.life) } else { terms.life };
        let limit = Box::pin(sleep_until(end.min(now + terms.head)));
        let lengths = Lengths::default();
        Guard { io, terms, end, in_head: false, head_since: now, moved: now, limit, lengths, pass }
    }

    /// The connection itself.
    pub(crate) fn inner(&self) -> &S {
        &self.io
    }

    /// Its place.
    pub(crate) fn pass(&self) -> &Pass {
        &self.pass
    }

    /// What `io` said, or the end of the terms; `read`: bytes came, or else they went.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
        read: bool,
    ) -> Poll<io::Result<T>> {
        if self.pass.is_given_up(cx.waker()) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if polled.is_ready() {
            self.moved = Instant::now();
            match (self.pass.phase(), read) {
                // A head begins: from here on it has its time, however its bytes come.
                (Some(Phase::Silent | Phase::Idle), true) if !self.in_head => {
                    (self.in_head, self.head_since) = (true, self.moved);
                }
                // Whoever reads its answer goes after those who do not.
                (Some(Phase::Idle), false) => {
                    self.in_head = false;
                    self.pass.set(Phase::Idle);
                }
                (Some(Phase::Busy), _) => self.in_head = false,
                _ => {}
            }
        }
        loop {
            let at = self.ends_at();
            if Instant::now() >= at {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.limit.as_mut().reset(at);
            if polled.is_ready() || self.limit.as_mut().poll(cx).is_pending() {
                return polled;
            }
        }
    }

    /// When it is closed unless something moves.
    fn ends_at(&self) -> Instant {
        let head = match self.pass.phase() {
            Some(Phase::Silent) => true,
            Some(Phase::Idle) => self.in_head,
            _ => false,
        };
        let own = match (self.pass.is_in_body(), head) {
            (true, _) => self.head_since + self.terms.head + BODY,
            (false, true) => self.head_since + self.terms.head,
            (false, false) => self.moved + self.terms.silence,
        };
        self.end.min(own)
    }
}

impl<S> Drop for Guard<S> {
    fn drop(&mut self) {
        self.pass.leave();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = to.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(cx, to);
        let came = to.filled().get(before..).unwrap_or_default();
        if self.lengths.feed(came) {
            self.pass.sees_two_lengths();
        }
        self.watch(cx, polled, true)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, from);
        self.watch(cx, polled, false)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::serve::counts::{Counts, Listener};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    fn terms() -> Terms {
        let seconds = Duration::from_secs;
        Terms { connections: 1, head: seconds(3), silence: seconds(10), life: seconds(25) }
    }

    fn guard(near: DuplexStream) -> Guard<DuplexStream> {
        let places = Places::new(1, Listener::Socket, Arc::new(Counts::default()));
        let pass = places.enter(None).unwrap();
        Guard::new(near, terms(), pass)
    }

    async fn ended(guard: &mut Guard<DuplexStream>, begin: Instant) -> (io::ErrorKind, u64) {
        loop {
            if let Err(error) = guard.read_u8().await {
                return (error.kind(), begin.elapsed().as_secs());
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_a_connection_sooner_before_its_first_head() {
        let (near, _far) = duplex(64);
        let mut fresh = guard(near);
        assert_eq!(ended(&mut fresh, Instant::now()).await, (io::ErrorKind::TimedOut, 3));
        let (near, mut far) = duplex(64);
        let mut answered = guard(near);
        far.write_u8(b'x').await.unwrap();
        assert_eq!(answered.read_u8().await.unwrap(), b'x');
        answered.pass.set(Phase::Busy);
        answered.pass.set(Phase::Idle);
        answered.write_u8(b'y').await.unwrap();
        assert_eq!(ended(&mut answered, Instant::now()).await, (io::ErrorKind::TimedOut, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_drips_ends_in_its_time() {
        let (near, mut far) = duplex(64);
        let mut guard = guard(near);
        let drip = tokio::spawn(async move {
            while far.write_u8(b'x').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        assert_eq!(ended(&mut guard, Instant::now()).await, (io::ErrorKind::TimedOut, 3));
        drip.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_ends_in_its_time() {
        let (near, mut far) = duplex(64);
        let mut guard = guard(near);
        guard.terms.life = Duration::from_secs(600);
        guard.end = Instant::now() + guard.terms.life;
        guard.pass.begin(false);
        let drip = tokio::spawn(async move {
            while far.write_u8(b'x').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let ends = (io::ErrorKind::TimedOut, 3 + BODY.as_secs());
        assert_eq!(ended(&mut guard, Instant::now()).await, ends);
        drip.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_drips_ends_with_its_life() {
        let (near, mut far) = duplex(64);
        let mut guard = guard(near);
        guard.pass.set(Phase::Busy);
        let drip = tokio::spawn(async move {
            while far.write_u8(b'x').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        });
        assert_eq!(ended(&mut guard, Instant::now()).await, (io::ErrorKind::TimedOut, 25));
        drip.abort();
    }
}
