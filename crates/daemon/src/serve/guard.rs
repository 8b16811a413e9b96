//! Connections to the control API and the metrics: how many at a time, and how long one may be silent or live.
//!
//! It knows nothing of HTTP.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

/// What connections of one listener may do.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Connections at a time; more wait in the backlog.
    pub connections: usize,
    /// Silence in both directions until it is closed.
    pub silence: Duration,
    /// From its accept until it is closed in any case.
    pub life: Duration,
}

/// A listener whose connections keep to terms.
#[derive(Debug)]
pub struct Guarded<L> {
    listener: L,
    terms: Terms,
    seats: Arc<Semaphore>,
}

impl<L> Guarded<L> {
    /// Around a listener.
    pub fn new(listener: L, terms: Terms) -> Guarded<L> {
        Guarded { listener, terms, seats: Arc::new(Semaphore::new(terms.connections)) }
    }
}

impl<L: axum::serve::Listener> axum::serve::Listener for Guarded<L> {
    type Io = Guard<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // The semaphore is never closed; without a seat the connection is only not counted.
        let seat = Arc::clone(&self.seats).acquire_owned().await.ok();
        let (io, address) = self.listener.accept().await;
        (Guard::new(io, self.terms, seat), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that ends with its terms.
#[derive(Debug)]
pub struct Guard<S> {
    io: S,
    silence: Duration,
    end: Instant,
    limit: Pin<Box<Sleep>>,
    _seat: Option<OwnedSemaphorePermit>,
}

impl<S> Guard<S> {
    fn new(io: S, terms: Terms, seat: Option<OwnedSemaphorePermit>) -> Guard<S> {
        let now = Instant::now();
        let end = now + terms.life;
        let limit = Box::pin(sleep_until(end.min(now + terms.silence)));
        Guard { io, silence: terms.silence, end, limit, _seat: seat }
    }

    /// The connection itself.
    pub fn inner(&self) -> &S {
        &self.io
    }

    /// What `io` said, or the end of the terms; anything that moved starts the silence anew.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            let now = Instant::now();
            if now >= self.end {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.limit.as_mut().reset(self.end.min(now + self.silence));
            return polled;
        }
        self.limit.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_read(cx, to);
        self.watch(cx, polled)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, from);
        self.watch(cx, polled)
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
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    fn terms() -> Terms {
        Terms { connections: 1, silence: Duration::from_secs(10), life: Duration::from_secs(25) }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_a_connection() {
        let (near, _far) = duplex(64);
        let mut guard = Guard::new(near, terms(), None);
        let begin = Instant::now();
        let error = guard.read_u8().await.unwrap_err();
        assert_eq!((error.kind(), begin.elapsed().as_secs()), (io::ErrorKind::TimedOut, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_drips_ends_with_its_life() {
        let (near, mut far) = duplex(64);
        let mut guard = Guard::new(near, terms(), None);
        let drip = tokio::spawn(async move {
            while far.write_u8(b'x').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(8)).await;
            }
        });
        let begin = Instant::now();
        let error = loop {
            if let Err(error) = guard.read_u8().await {
                break error;
            }
        };
        assert_eq!((error.kind(), begin.elapsed().as_secs()), (io::ErrorKind::TimedOut, 25));
        drip.abort();
    }
}
