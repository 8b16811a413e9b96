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
use model::admission::AdmissionPhase;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::util::admin_listeners::body_framing::FramingTracker;
use crate::util::admin_listeners::connection_slots::{
    ConnectionSlot, ConnectionSlots, RESERVED_SLOT_LIFETIME,
};

/// For a whole head on any listener of control.
/// As `timeout.header` of a service: three retransmissions fit.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// For a whole body after that.
/// The largest configuration, 16 MiB, passes at 2.3 Mbit/s.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a new connection waits while all places are in use. A client without an answer within a few seconds shows a
/// failure instead of hanging.
const TURN: Duration = Duration::from_secs(5);
/// How often it is looked whether one is free meanwhile.
/// Bounds how much longer than necessary a connection waits.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Limits of a listener's connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// The limit of connections. At the limit, an idle connection is closed for a new one.
    pub connections: usize,
    /// For a whole head, from the connection's begin or the head's first byte.
    pub head_timeout: Duration,
    /// Silence in both directions until it is closed.
    pub idle_timeout: Duration,
    /// From its accept until it is closed in any case.
    pub max_lifetime: Duration,
}

/// Clients' addresses, where the listener has any.
pub(crate) trait PeerIp {
    fn ip(&self) -> Option<IpAddr>;
}

impl PeerIp for SocketAddr {
    fn ip(&self) -> Option<IpAddr> {
        Some(SocketAddr::ip(self))
    }
}

impl PeerIp for tokio::net::unix::SocketAddr {
    fn ip(&self) -> Option<IpAddr> {
        None
    }
}

/// A listener that enforces limits on its connections.
pub(crate) struct GuardedListener<L> {
    listener: L,
    limits: ConnectionLimits,
    slots: ConnectionSlots,
}

impl<L> GuardedListener<L> {
    pub(crate) fn new(
        listener: L,
        terms: ConnectionLimits,
        places: ConnectionSlots,
    ) -> GuardedListener<L> {
        GuardedListener { listener, limits: terms, slots: places }
    }
}

impl<L: axum::serve::Listener<Addr: PeerIp>> axum::serve::Listener for GuardedListener<L> {
    type Io = GuardedConnection<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (io, address) = self.listener.accept().await;
            // Pending requests have priority; connections behind this one wait in the kernel's queue.
            let until = Instant::now() + TURN;
            while self.slots.should_wait() && Instant::now() < until {
                sleep(POLL_INTERVAL).await;
            }
            // A connection without a place is closed, so that the client notices.
            if let Some(pass) = self.slots.acquire(address.ip()) {
                return (GuardedConnection::new(io, self.limits, pass), address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl<L: axum::serve::Listener<Addr: PeerIp>> Connected<IncomingStream<'_, GuardedListener<L>>>
    for ConnectionSlot
{
    fn connect_info(stream: IncomingStream<'_, GuardedListener<L>>) -> ConnectionSlot {
        stream.io().slot.clone()
    }
}

/// A connection that ends with its terms.
#[derive(Debug)]
pub(crate) struct GuardedConnection<S> {
    io: S,
    limits: ConnectionLimits,
    lifetime_end: Instant,
    in_head: bool,
    head_since: Instant,
    last_activity: Instant,
    timer: Pin<Box<Sleep>>,
    framing: FramingTracker,
    slot: ConnectionSlot,
}

impl<S> GuardedConnection<S> {
    fn new(io: S, terms: ConnectionLimits, pass: ConnectionSlot) -> GuardedConnection<S> {
        let now = Instant::now();
        let end = now
            + if pass.is_reserved() {
                RESERVED_SLOT_LIFETIME.min(terms.max_lifetime)
            } else {
                terms.max_lifetime
            };
        let limit = Box::pin(sleep_until(end.min(now + terms.head_timeout)));
        let lengths = FramingTracker::default();
        GuardedConnection {
            io,
            limits: terms,
            lifetime_end: end,
            in_head: false,
            head_since: now,
            last_activity: now,
            timer: limit,
            framing: lengths,
            slot: pass,
        }
    }

    pub(crate) fn inner(&self) -> &S {
        &self.io
    }

    pub(crate) fn slot(&self) -> &ConnectionSlot {
        &self.slot
    }

    /// The result of `io`, or the end of the limits; `read`: whether bytes were received or sent.
    fn enforce_limits<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
        read: bool,
    ) -> Poll<io::Result<T>> {
        if self.slot.poll_evicted(cx.waker()) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if polled.is_ready() {
            self.last_activity = Instant::now();
            match (self.slot.phase(), read) {
                // A head begins: from here on it has its time, however its bytes come.
                (Some(AdmissionPhase::Silent | AdmissionPhase::Idle), true) if !self.in_head => {
                    self.in_head = true;
                    self.head_since = self.last_activity;
                }
                // A client that reads its response is evicted later than one that does not.
                (Some(AdmissionPhase::Idle), false) => {
                    self.in_head = false;
                    self.slot.set_phase(AdmissionPhase::Idle);
                }
                (Some(AdmissionPhase::Busy), _) => self.in_head = false,
                _ => {}
            }
        }
        loop {
            let at = self.ends_at();
            if Instant::now() >= at {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.timer.as_mut().reset(at);
            if polled.is_ready() || self.timer.as_mut().poll(cx).is_pending() {
                return polled;
            }
        }
    }

    /// When it is closed unless something moves.
    fn ends_at(&self) -> Instant {
        let head = match self.slot.phase() {
            Some(AdmissionPhase::Silent) => true,
            Some(AdmissionPhase::Idle) => self.in_head,
            _ => false,
        };
        let own = match (self.slot.is_in_body(), head) {
            (true, _) => self.head_since + self.limits.head_timeout + BODY_TIMEOUT,
            (false, true) => self.head_since + self.limits.head_timeout,
            (false, false) => self.last_activity + self.limits.idle_timeout,
        };
        self.lifetime_end.min(own)
    }
}

impl<S> Drop for GuardedConnection<S> {
    fn drop(&mut self) {
        self.slot.release();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedConnection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = to.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(cx, to);
        let came = to.filled().get(before..).unwrap_or_default();
        if self.framing.consume(came) {
            self.slot.mark_conflicting_lengths();
        }
        self.enforce_limits(cx, polled, true)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedConnection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, from);
        self.enforce_limits(cx, polled, false)
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
    use crate::util::admin_listeners::api_counters::{ApiCounters, ListenerKind};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    fn terms() -> ConnectionLimits {
        let seconds = Duration::from_secs;
        ConnectionLimits {
            connections: 1,
            head_timeout: seconds(3),
            idle_timeout: seconds(10),
            max_lifetime: seconds(25),
        }
    }

    fn guard(near: DuplexStream) -> GuardedConnection<DuplexStream> {
        let places =
            ConnectionSlots::new(1, ListenerKind::Socket, Arc::new(ApiCounters::default()));
        let pass = places.acquire(None).unwrap();
        GuardedConnection::new(near, terms(), pass)
    }

    async fn ended(
        guard: &mut GuardedConnection<DuplexStream>,
        begin: Instant,
    ) -> (io::ErrorKind, u64) {
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
        answered.slot.set_phase(AdmissionPhase::Busy);
        answered.slot.set_phase(AdmissionPhase::Idle);
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
        guard.limits.max_lifetime = Duration::from_secs(600);
        guard.lifetime_end = Instant::now() + guard.limits.max_lifetime;
        guard.slot.begin_request(false);
        let drip = tokio::spawn(async move {
            while far.write_u8(b'x').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let ends = (io::ErrorKind::TimedOut, 3 + BODY_TIMEOUT.as_secs());
        assert_eq!(ended(&mut guard, Instant::now()).await, ends);
        drip.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_drips_ends_with_its_life() {
        let (near, mut far) = duplex(64);
        let mut guard = guard(near);
        guard.slot.set_phase(AdmissionPhase::Busy);
        let drip = tokio::spawn(async move {
            while far.write_u8(b'x').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        });
        assert_eq!(ended(&mut guard, Instant::now()).await, (io::ErrorKind::TimedOut, 25));
        drip.abort();
    }
}
