//! A worker's connection: non-blocking reads and writes, and waits with deadlines.
//!
//! The reader provides the buffer. Under TLS (`tls_io`) a session is between the connection and its socket. A stream of
//! a multiplexed connection has the same interface. Dropping it closes the connection or the stream.

mod multiplexed;
mod pipe_io;
mod tcp_info;
mod tls_io;

use std::cell::{Cell, OnceCell};
use std::io;
use std::rc::Rc;
use std::task::Poll;

use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;

use crate::accounting::DownstreamProtocol;
use crate::conn::tls_state::TlsState;
use crate::rt::{
    AcceptedSocket, DeadlineError, NetDriver, Readiness, ReadinessSource, RegisteredSource,
    WorkerRuntime,
};
pub use multiplexed::{MultiplexedStream, StreamReadResult, StreamWriteResult, TlsContext};

pub struct ProxyStream<N: NetDriver> {
    rt: Rc<WorkerRuntime<N>>,
    backend: StreamBackend<N>,
    source: Rc<ReadinessSource>,
    tls: OnceCell<Box<TlsState>>,
    resetting: Cell<bool>,
    tcp_counters: OnceCell<Box<Cell<TcpInfoSample>>>,
    /// What is read is acknowledged at once.
    acknowledges_at_once: Cell<bool>,
}

/// The transport of a stream.
enum StreamBackend<N: NetDriver> {
    Socket(N::Sock, u64),
    Multiplexed(Box<dyn MultiplexedStream>),
}

impl<N: NetDriver> ProxyStream<N> {
    /// Takes ownership of a socket for the current task. `writable`: a write may succeed at once.
    ///
    /// # Errors
    /// The error of registering the socket: memory or limits of the kernel.
    pub fn new(
        rt: &Rc<WorkerRuntime<N>>,
        sock: N::Sock,
        writable: bool,
    ) -> io::Result<ProxyStream<N>> {
        let bits = if writable { Readiness::WRITE } else { 0 };
        let RegisteredSource { source, token } = rt.register(&sock, bits)?;
        Ok(ProxyStream::from_backend(rt, StreamBackend::Socket(sock, token), source))
    }

    fn from_backend(
        rt: &Rc<WorkerRuntime<N>>,
        under: StreamBackend<N>,
        source: Rc<ReadinessSource>,
    ) -> ProxyStream<N> {
        let sealed = OnceCell::new();
        let measured = OnceCell::new();
        let resetting = Cell::new(false);
        ProxyStream {
            rt: rt.clone(),
            backend: under,
            source,
            tls: sealed,
            resetting,
            tcp_counters: measured,
            acknowledges_at_once: Cell::new(false),
        }
    }

    /// A stream of a multiplexed connection, for the current task.
    pub fn from_multiplexed(
        rt: &Rc<WorkerRuntime<N>>,
        stream: Box<dyn MultiplexedStream>,
    ) -> ProxyStream<N> {
        ProxyStream::from_backend(rt, StreamBackend::Multiplexed(stream), rt.unregistered())
    }

    /// Whether it is a stream of a multiplexed connection.
    pub fn is_multiplexed(&self) -> bool {
        matches!(self.backend, StreamBackend::Multiplexed(_))
    }

    /// The protocol of the shared connection; `None`: the stream has its own connection.
    pub fn shared_protocol(&self) -> Option<DownstreamProtocol> {
        match &self.backend {
            StreamBackend::Socket(..) => None,
            StreamBackend::Multiplexed(stream) => Some(stream.protocol()),
        }
    }

    /// The counter of bytes that all streams of the shared connection buffer for the peer; `None`: not a client's
    /// stream.
    pub fn shared_buffered(&self) -> Option<Rc<Cell<usize>>> {
        match &self.backend {
            StreamBackend::Socket(..) => None,
            StreamBackend::Multiplexed(stream) => stream.shared_buffered(),
        }
    }

    /// Accepts the next connection of a listener.
    ///
    /// # Errors
    /// `WouldBlock`, or an error of the kernel.
    pub fn accept(&self) -> io::Result<AcceptedSocket<N::Sock>> {
        self.rt.net.accept(self.socket()?)
    }

    /// Rejects new TCP handshakes on a listener, while those in progress may finish.
    pub fn refuse_handshakes(&self) {
        if let Ok(sock) = self.socket() {
            // Without the filter, closing the listener would reset connections that arrive meanwhile.
            let _ = self.rt.net.refuse_handshakes(sock);
        }
    }

    /// Whether a connect in progress is established.
    ///
    /// # Errors
    /// `WouldBlock`, or the error of the connect.
    pub fn established(&self) -> io::Result<()> {
        self.rt.net.established(self.socket()?)
    }

    /// Whether the connection is open without unread data; checked with a system call.
    pub fn is_quiet(&self) -> bool {
        self.socket().is_ok_and(|sock| self.rt.net.is_quiet(sock))
    }

    /// Whether the peer provably received nothing that was sent after the first `sent_before` bytes.
    pub fn peer_received_nothing(&self, sent_before: u64) -> bool {
        match &self.backend {
            StreamBackend::Socket(sock, _) => {
                self.rt.net.acknowledged(sock).is_some_and(|bytes| bytes <= sent_before)
            }
            StreamBackend::Multiplexed(stream) => stream.unprocessed(),
        }
    }

    /// Whether the peer has declared that it did not process this stream (RFC 9113 §8.7).
    pub fn unprocessed(&self) -> bool {
        matches!(&self.backend, StreamBackend::Multiplexed(stream) if stream.unprocessed())
    }

    /// The socket; a multiplexed stream has none.
    fn socket(&self) -> io::Result<&N::Sock> {
        match &self.backend {
            StreamBackend::Socket(sock, _) => Ok(sock),
            StreamBackend::Multiplexed(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub fn source(&self) -> &ReadinessSource {
        &self.source
    }

    /// Readiness wakes the current task from now on.
    pub fn attach_current_task(&self) {
        self.source.set_task(self.rt.current());
    }

    /// Readiness is recorded, but wakes no task.
    pub fn detach_task(&self) {
        self.source.set_task(None);
    }

    #[inline]
    pub fn try_read(&self, into: &mut [u8]) -> StreamReadResult {
        let sock = match &self.backend {
            StreamBackend::Socket(sock, _) => sock,
            StreamBackend::Multiplexed(stream) => return stream.read(into),
        };
        if let Some(sealed) = self.tls.get() {
            return self.read_tls(sealed, sock, into);
        }
        if !self.source.has(Readiness::READ) {
            return StreamReadResult::WouldBlock;
        }
        match self.rt.net.read(sock, into) {
            Ok(0) if into.is_empty() => StreamReadResult::WouldBlock,
            Ok(0) => StreamReadResult::End,
            Ok(n) => {
                self.acknowledge(sock);
                if n < into.len() && !self.source.has(Readiness::END | Readiness::BROKEN) {
                    self.source.clear(Readiness::READ);
                }
                StreamReadResult::Data(n)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::READ);
                StreamReadResult::WouldBlock
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                StreamReadResult::WouldBlock
            }
            Err(error) => StreamReadResult::Failed(error),
        }
    }

    /// Writes as much as possible.
    #[inline]
    pub fn try_write(&self, from: &[u8]) -> StreamWriteResult {
        self.try_write_with(from, false)
    }

    /// Writes as much as possible. `more`: more bytes follow at once and may share a packet with these.
    #[inline]
    pub fn try_write_with(&self, from: &[u8], more: bool) -> StreamWriteResult {
        let sock = match &self.backend {
            StreamBackend::Socket(sock, _) => sock,
            StreamBackend::Multiplexed(stream) => return stream.write(from),
        };
        if let Some(sealed) = self.tls.get() {
            return self.write_tls(sealed, sock, from, more);
        }
        if !self.source.has(Readiness::WRITE) {
            return StreamWriteResult::WouldBlock;
        }
        self.record_write(from.len(), self.rt.net.write(sock, from, more))
    }

    fn record_write(&self, offered: usize, result: io::Result<usize>) -> StreamWriteResult {
        match result {
            Ok(n) => {
                if n < offered {
                    self.source.clear(Readiness::WRITE);
                }
                StreamWriteResult::Bytes(n)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::WRITE);
                StreamWriteResult::WouldBlock
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                StreamWriteResult::WouldBlock
            }
            Err(error) => StreamWriteResult::Failed(error),
        }
    }

    /// Ends the sending direction; reading continues.
    pub fn end(&self) {
        let sock = match &self.backend {
            StreamBackend::Socket(sock, _) => sock,
            StreamBackend::Multiplexed(stream) => return stream.end(),
        };
        if let Some(sealed) = self.tls.get() {
            return self.end_tls(sealed, sock);
        }
        // An error means that the connection is broken, which the next read reports.
        let _ = self.rt.net.end(sock);
    }

    pub fn reset(self) {
        self.reset_on_drop();
    }

    /// Makes the close on drop a reset.
    pub fn reset_on_drop(&self) {
        self.resetting.set(true);
        match &self.backend {
            StreamBackend::Socket(sock, _) => self.rt.net.reset_on_drop(sock),
            StreamBackend::Multiplexed(stream) => stream.reset(),
        }
    }

    /// Whether a read would return something, including the end.
    pub fn may_read(&self) -> bool {
        match &self.backend {
            StreamBackend::Socket(..) => self.source.has(Readiness::READ),
            StreamBackend::Multiplexed(stream) => stream.may_read(),
        }
    }

    /// Whether the connection is open without unread data. Clears readiness that is left from a read of all bytes:
    /// unsolicited bytes must not be taken for the next response.
    pub fn settle_idle(&self) -> bool {
        if self.source.has(Readiness::END | Readiness::BROKEN) {
            return false;
        }
        // A stream carries one exchange, so it is never idle.
        let StreamBackend::Socket(sock, _) = &self.backend else { return false };
        if let Some(sealed) = self.tls.get() {
            return self.is_tls_quiet(sealed, sock);
        }
        if self.source.has(Readiness::READ) {
            if !self.rt.net.is_quiet(sock) {
                return false;
            }
            self.source.clear(Readiness::READ);
        }
        true
    }

    /// Whether the connection is known to be broken.
    #[inline]
    pub fn is_broken(&self) -> bool {
        match &self.backend {
            StreamBackend::Socket(..) => self.source.has(Readiness::BROKEN),
            StreamBackend::Multiplexed(stream) => stream.is_broken(),
        }
    }

    /// Waits until a read would return something.
    ///
    /// # Errors
    /// [`DeadlineError`] when `until` passes first.
    pub async fn readable(&self, until: MonotonicTime) -> Result<(), DeadlineError> {
        std::future::poll_fn(|_| match &self.backend {
            StreamBackend::Multiplexed(stream) if stream.may_read() || stream.is_broken() => {
                Poll::Ready(Ok(()))
            }
            _ => self.rt.poll_ready(&self.source, Readiness::READ, until),
        })
        .await
    }

    /// Waits until a write would accept something.
    ///
    /// # Errors
    /// [`DeadlineError`] when `until` passes first.
    pub async fn writable(&self, until: MonotonicTime) -> Result<(), DeadlineError> {
        std::future::poll_fn(|_| match &self.backend {
            StreamBackend::Multiplexed(stream) if stream.may_write() || stream.is_broken() => {
                Poll::Ready(Ok(()))
            }
            _ => self.rt.poll_ready(&self.source, Readiness::WRITE, until),
        })
        .await
    }

    /// Writes all bytes of `from`.
    ///
    /// # Errors
    /// `None` if `until` passes first, else the I/O error.
    pub async fn write_all(
        &self,
        mut from: &[u8],
        until: MonotonicTime,
    ) -> Result<(), Option<io::Error>> {
        while !from.is_empty() {
            match self.try_write(from) {
                StreamWriteResult::Bytes(n) => from = &from[n..],
                StreamWriteResult::WouldBlock => {
                    self.writable(until).await.map_err(|DeadlineError| None)?
                }
                StreamWriteResult::Failed(error) => return Err(Some(error)),
            }
        }
        Ok(())
    }

    /// Waits for a poll function, which receives this stream's runtime.
    pub async fn poll_until<T>(&self, mut poll: impl FnMut(&WorkerRuntime<N>) -> Poll<T>) -> T {
        std::future::poll_fn(|_| poll(&self.rt)).await
    }
}

impl<N: NetDriver> Drop for ProxyStream<N> {
    fn drop(&mut self) {
        let StreamBackend::Socket(sock, token) = &self.backend else { return };
        if let Some(sealed) = self.tls.get() {
            self.send_close_notify(sealed, sock);
        }
        self.rt.net.deregister(sock);
        self.rt.forget(*token);
    }
}
