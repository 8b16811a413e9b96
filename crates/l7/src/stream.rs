//! A connection of a worker: reads and writes that never block, and waits with deadlines.
//!
//! It keeps no bytes of its own: whoever reads has the buffer. Under TLS (`sealed`) a session stands between it and
//! the socket. A strand of a connection that carries many of them looks the same. Dropping it closes the connection, or
//! the strand.

mod measured;
mod sealed;
mod strand;

use std::cell::{Cell, OnceCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Poll;

use model::attribute::Tcp;
use model::moment::Moment;

use crate::account::Protocol;
use crate::rt::{Expired, Net, Readiness, Rt, Source};
use crate::seal::Sealed;
pub use strand::{Read, Strand, UnderTls, Wrote};

/// A connected (or connecting) socket, or what looks like one.
pub struct Stream<N: Net> {
    rt: Rc<Rt<N>>,
    under: Under<N>,
    source: Rc<Source>,
    sealed: OnceCell<Box<Sealed>>,
    resetting: Cell<bool>,
    measured: OnceCell<Box<Cell<Tcp>>>,
}

/// What a stream stands on.
enum Under<N: Net> {
    Socket(N::Sock, u64),
    Strand(Box<dyn Strand>),
}

impl<N: Net> Stream<N> {
    /// Takes over a socket for the current task. `writable`: whether a write is worth a try at once.
    ///
    /// # Errors
    /// What registering it says: memory or limits of the kernel.
    pub fn new(rt: &Rc<Rt<N>>, sock: N::Sock, writable: bool) -> io::Result<Stream<N>> {
        let bits = if writable { Readiness::WRITE } else { 0 };
        let (source, token) = rt.register(&sock, bits)?;
        Ok(Stream::over(rt, Under::Socket(sock, token), source))
    }

    fn over(rt: &Rc<Rt<N>>, under: Under<N>, source: Rc<Source>) -> Stream<N> {
        let (sealed, measured, resetting) = (OnceCell::new(), OnceCell::new(), Cell::new(false));
        Stream { rt: rt.clone(), under, source, sealed, resetting, measured }
    }

    /// A strand, for the current task.
    pub fn strand(rt: &Rc<Rt<N>>, strand: Box<dyn Strand>) -> Stream<N> {
        Stream::over(rt, Under::Strand(strand), rt.unregistered())
    }

    /// Whether it is one of many that share a connection.
    pub fn is_strand(&self) -> bool {
        matches!(self.under, Under::Strand(_))
    }

    /// What is spoken on the connection that it shares with others; `None`: it is no strand.
    pub fn shared_protocol(&self) -> Option<Protocol> {
        match &self.under {
            Under::Socket(..) => None,
            Under::Strand(strand) => Some(strand.protocol()),
        }
    }

    /// Bytes that all streams of the connection that it shares keep for the peer; `None`: it is no strand of a client.
    pub fn kept(&self) -> Option<Rc<Cell<usize>>> {
        match &self.under {
            Under::Socket(..) => None,
            Under::Strand(strand) => strand.kept(),
        }
    }

    /// Next connection of a listener.
    ///
    /// # Errors
    /// `WouldBlock`, or what the kernel says.
    pub fn accept(&self) -> io::Result<(N::Sock, SocketAddr)> {
        self.rt.net.accept(self.socket()?)
    }

    /// Stops new handshakes on a listener while those under way may still finish.
    pub fn refuse_handshakes(&self) {
        if let Ok(sock) = self.socket() {
            // Without the filter connections that arrive meanwhile would be reset by the close.
            let _ = self.rt.net.refuse_handshakes(sock);
        }
    }

    /// Whether a connection that was begun is established.
    ///
    /// # Errors
    /// `WouldBlock`, or why it failed.
    pub fn established(&self) -> io::Result<()> {
        self.rt.net.established(self.socket()?)
    }

    /// Whether the connection is open and the peer has sent nothing that was not read, looked up now.
    pub fn is_quiet(&self) -> bool {
        self.socket().is_ok_and(|sock| self.rt.net.quiet(sock))
    }

    /// Whether the peer provably got nothing of what we sent after the first `sent_before` bytes.
    pub fn got_nothing(&self, sent_before: u64) -> bool {
        match &self.under {
            Under::Socket(sock, _) => {
                self.rt.net.acknowledged(sock).is_some_and(|bytes| bytes <= sent_before)
            }
            Under::Strand(strand) => strand.unprocessed(),
        }
    }

    /// The peer has said that it processed nothing of what a strand carried.
    pub fn unprocessed(&self) -> bool {
        matches!(&self.under, Under::Strand(strand) if strand.unprocessed())
    }

    /// The socket; a strand has none of its own.
    fn socket(&self) -> io::Result<&N::Sock> {
        match &self.under {
            Under::Socket(sock, _) => Ok(sock),
            Under::Strand(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Its readiness.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Gives it to the current task.
    pub fn mine(&self) {
        self.source.belong_to(self.rt.current());
    }

    /// Gives it to nobody: readiness is noted and wakes no task.
    pub fn nobodys(&self) {
        self.source.belong_to(None);
    }

    /// Reads what is there.
    #[inline]
    pub fn try_read(&self, into: &mut [u8]) -> Read {
        let sock = match &self.under {
            Under::Socket(sock, _) => sock,
            Under::Strand(strand) => return strand.read(into),
        };
        if let Some(sealed) = self.sealed.get() {
            return self.read_sealed(sealed, sock, into);
        }
        if !self.source.has(Readiness::READ) {
            return Read::Later;
        }
        match self.rt.net.read(sock, into) {
            Ok(0) if into.is_empty() => Read::Later,
            Ok(0) => Read::End,
            Ok(n) => {
                if n < into.len() && !self.source.has(Readiness::END | Readiness::BROKEN) {
                    self.source.clear(Readiness::READ);
                }
                Read::Data(n)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::READ);
                Read::Later
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Read::Later,
            Err(error) => Read::Failed(error),
        }
    }

    /// Writes what it takes.
    #[inline]
    pub fn try_write(&self, from: &[u8]) -> Wrote {
        self.try_write_with(from, false)
    }

    /// Writes what it takes. `more`: bytes that follow at once may go out together with these.
    #[inline]
    pub fn try_write_with(&self, from: &[u8], more: bool) -> Wrote {
        let sock = match &self.under {
            Under::Socket(sock, _) => sock,
            Under::Strand(strand) => return strand.write(from),
        };
        if let Some(sealed) = self.sealed.get() {
            return self.write_sealed(sealed, sock, from, more);
        }
        if !self.source.has(Readiness::WRITE) {
            return Wrote::Later;
        }
        self.wrote(from.len(), self.rt.net.write(sock, from, more))
    }

    fn wrote(&self, offered: usize, result: io::Result<usize>) -> Wrote {
        match result {
            Ok(n) => {
                if n < offered {
                    self.source.clear(Readiness::WRITE);
                }
                Wrote::Bytes(n)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::WRITE);
                Wrote::Later
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Wrote::Later,
            Err(error) => Wrote::Failed(error),
        }
    }

    /// Moves bytes into a pipe. A short move says nothing about what is left, so only `WouldBlock` ends readiness.
    pub fn try_fill(&self, pipe: &N::Pipe, most: usize) -> Read {
        if !self.source.has(Readiness::READ) {
            return Read::Later;
        }
        match self.socket().and_then(|sock| self.rt.net.fill(sock, pipe, most)) {
            Ok(0) => Read::End,
            Ok(n) => Read::Data(n),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::READ);
                Read::Later
            }
            Err(error) => Read::Failed(error),
        }
    }

    /// Moves bytes out of a pipe.
    pub fn try_pour(&self, pipe: &N::Pipe, most: usize, more: bool) -> Wrote {
        if !self.source.has(Readiness::WRITE) {
            return Wrote::Later;
        }
        // A short move says nothing about the receiver, so only `WouldBlock` ends readiness.
        self.wrote(0, self.socket().and_then(|sock| self.rt.net.pour(pipe, sock, most, more)))
    }

    /// Sends our end; reading goes on.
    pub fn end(&self) {
        let sock = match &self.under {
            Under::Socket(sock, _) => sock,
            Under::Strand(strand) => return strand.end(),
        };
        if let Some(sealed) = self.sealed.get() {
            return self.end_sealed(sealed, sock);
        }
        // A failure means that the connection is broken already, which the next read will say.
        let _ = self.rt.net.end(sock);
    }

    /// Closes with a reset.
    pub fn reset(self) {
        self.reset_on_drop();
    }

    /// Makes the coming close a reset.
    pub fn reset_on_drop(&self) {
        self.resetting.set(true);
        match &self.under {
            Under::Socket(sock, _) => self.rt.net.reset_on_drop(sock),
            Under::Strand(strand) => strand.reset(),
        }
    }

    /// Whether a read may give something, the end included.
    pub fn may_read(&self) -> bool {
        match &self.under {
            Under::Socket(..) => self.source.has(Readiness::READ),
            Under::Strand(strand) => strand.may_read(),
        }
    }

    /// Whether the connection is open and silent. Readiness that is left over from a read that took all is
    /// cleared: bytes that nobody asked for must not pass for the next answer.
    pub fn settle(&self) -> bool {
        if self.source.has(Readiness::END | Readiness::BROKEN) {
            return false;
        }
        // A strand carries one exchange.
        let Under::Socket(sock, _) = &self.under else { return false };
        if let Some(sealed) = self.sealed.get() {
            return self.quiet_sealed(sealed, sock);
        }
        if self.source.has(Readiness::READ) {
            if !self.rt.net.quiet(sock) {
                return false;
            }
            self.source.clear(Readiness::READ);
        }
        true
    }

    /// Whether the connection is known to be broken.
    #[inline]
    pub fn broken(&self) -> bool {
        match &self.under {
            Under::Socket(..) => self.source.has(Readiness::BROKEN),
            Under::Strand(strand) => strand.broken(),
        }
    }

    /// Waits until a read may give something.
    ///
    /// # Errors
    /// `Expired` when `until` passes first.
    pub async fn readable(&self, until: Moment) -> Result<(), Expired> {
        std::future::poll_fn(|_| match &self.under {
            Under::Strand(strand) if strand.may_read() || strand.broken() => Poll::Ready(Ok(())),
            _ => self.rt.poll_ready(&self.source, Readiness::READ, until),
        })
        .await
    }

    /// Waits until a write may take something.
    ///
    /// # Errors
    /// `Expired` when `until` passes first.
    pub async fn writable(&self, until: Moment) -> Result<(), Expired> {
        std::future::poll_fn(|_| match &self.under {
            Under::Strand(strand) if strand.may_write() || strand.broken() => Poll::Ready(Ok(())),
            _ => self.rt.poll_ready(&self.source, Readiness::WRITE, until),
        })
        .await
    }

    /// Writes everything.
    ///
    /// # Errors
    /// `None` when `until` passes first, else what broke.
    pub async fn write_all(&self, mut from: &[u8], until: Moment) -> Result<(), Option<io::Error>> {
        while !from.is_empty() {
            match self.try_write(from) {
                Wrote::Bytes(n) => from = &from[n..],
                Wrote::Later => self.writable(until).await.map_err(|Expired| None)?,
                Wrote::Failed(error) => return Err(Some(error)),
            }
        }
        Ok(())
    }

    /// Waits for what a poll function says, with this stream's runtime.
    pub async fn until<T>(&self, mut poll: impl FnMut(&Rt<N>) -> Poll<T>) -> T {
        std::future::poll_fn(|_| poll(&self.rt)).await
    }
}

impl<N: Net> Drop for Stream<N> {
    fn drop(&mut self) {
        let Under::Socket(sock, token) = &self.under else { return };
        if let Some(sealed) = self.sealed.get() {
            self.part(sealed, sock);
        }
        self.rt.forget(*token);
    }
}
