//! The interface of a worker to the operating system: sockets, pipes and a clock.
//!
//! `rt::epoll` is the real driver, `simulation::net` the simulated one. Calls never block: an operation that cannot be
//! done now returns `WouldBlock`, and `wait` reports readiness later.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use model::config::{ServerEndpoint, SocketOptions};
use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;

use super::source::Readiness;

/// How to connect to a server.
#[derive(Clone, Copy, Debug)]
pub struct ConnectTarget<'a> {
    pub to: &'a ServerEndpoint,
    /// The source address; `None`: the kernel chooses it.
    pub from: Option<IpAddr>,
    /// Socket settings of the pool.
    pub options: &'a SocketOptions,
}

/// A connection that a listener accepted.
pub struct AcceptedSocket<S> {
    pub sock: S,
    /// The address of the client.
    pub peer: SocketAddr,
}

/// A report of readiness.
#[derive(Clone, Copy, Debug)]
pub struct ReadyEvent {
    /// The token passed to `register`.
    pub token: u64,
    pub readiness: Readiness,
}

/// The operating system of one worker.
pub trait NetDriver: Sized + 'static {
    /// A socket; dropping it closes it.
    type Sock: 'static;
    /// A pipe for splicing; dropping it closes it.
    type Pipe: 'static;

    fn now(&self) -> MonotonicTime;

    /// Waits until a socket is ready or `timeout` has passed (`None`: no timeout), and appends the new events.
    fn wait(&self, timeout: Option<Duration>, into: &mut Vec<ReadyEvent>) -> io::Result<()>;

    /// Takes ownership of a listening socket.
    fn adopt(&self, listener: Arc<OwnedFd>) -> io::Result<Self::Sock>;

    /// Reports this socket's readiness under `token` from now on, edge-triggered.
    fn register(&self, sock: &Self::Sock, token: u64) -> io::Result<()>;

    /// Ends the reports of a socket that others hold too. For any other socket, dropping it does.
    fn deregister(&self, sock: &Self::Sock);

    /// Accepts the next connection of a listener.
    fn accept(&self, listener: &Self::Sock) -> io::Result<AcceptedSocket<Self::Sock>>;

    /// The local address of an accepted connection, if the driver knows it.
    fn local_address(&self, sock: &Self::Sock) -> Option<SocketAddr>;

    /// Whether this socket's descriptor is reserved for control work: its client is refused.
    fn is_reserved_descriptor(&self, sock: &Self::Sock) -> bool;

    /// Rejects new TCP handshakes on a listener, while those in progress may finish.
    fn refuse_handshakes(&self, listener: &Self::Sock) -> io::Result<()>;

    /// Starts to connect. The connection is established when the socket is writable and `established` succeeds. The
    /// error `WouldBlock` says that the queue of a Unix socket is full: another attempt may succeed.
    fn connect(&self, how: &ConnectTarget) -> io::Result<Self::Sock>;

    /// Whether a connect in progress is established; the error says why it failed.
    fn established(&self, sock: &Self::Sock) -> io::Result<()>;

    /// Reads; 0 is the end.
    fn read(&self, sock: &Self::Sock, into: &mut [u8]) -> io::Result<usize>;

    /// Sends a delayed acknowledgement now, and the next ones at once, until the kernel delays them again.
    fn acknowledge_now(&self, sock: &Self::Sock);

    /// Whether the connection is open without unread data; checked with a system call.
    fn is_quiet(&self, sock: &Self::Sock) -> bool;

    /// Writes. `more`: more bytes follow at once and may share a packet with these.
    fn write(&self, sock: &Self::Sock, from: &[u8], more: bool) -> io::Result<usize>;

    /// Ends the sending direction; reading continues.
    fn end(&self, sock: &Self::Sock) -> io::Result<()>;

    /// Makes dropping the socket send a reset.
    fn reset_on_drop(&self, sock: &Self::Sock);

    /// Sent bytes that the peer has acknowledged, if the driver knows the number.
    fn acknowledged(&self, sock: &Self::Sock) -> Option<u64>;

    /// The local port of this connection, if the driver knows it.
    fn local_port(&self, sock: &Self::Sock) -> Option<u16>;

    /// The kernel's TCP_INFO counters of this connection, if the driver knows them.
    fn counters(&self, sock: &Self::Sock) -> Option<TcpInfoSample>;

    /// How long this thread was ready to run and did not, nanoseconds since its start; `None`: unknown.
    fn run_delay_ns(&self) -> Option<u64>;

    /// A pipe, or `None` if splicing is not available.
    fn pipe(&self) -> Option<Self::Pipe>;

    /// Moves at most `most` bytes from a socket into a pipe; 0 is the end.
    fn fill(&self, sock: &Self::Sock, pipe: &Self::Pipe, most: usize) -> io::Result<usize>;

    /// Moves at most `most` bytes from a pipe into a socket.
    fn pour(
        &self,
        pipe: &Self::Pipe,
        sock: &Self::Sock,
        most: usize,
        more: bool,
    ) -> io::Result<usize>;
}
