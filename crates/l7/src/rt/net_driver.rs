//! What a worker needs from the operating system, as a trait: sockets, pipes and a clock.
//!
//! `rt::epoll` is the real driver, `simulation::net` the simulated one. Calls never block: what cannot be done now
//! returns `WouldBlock`, and `wait` reports readiness later.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::config::SocketOptions;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;

use super::source::Readiness;

/// How to reach a server.
#[derive(Clone, Copy, Debug)]
pub struct ConnectTarget<'a> {
    pub to: SocketAddr,
    /// Our address; `None`: the kernel chooses.
    pub from: Option<IpAddr>,
    /// Socket settings of the pool.
    pub options: &'a SocketOptions,
}

/// One report of readiness.
#[derive(Clone, Copy, Debug)]
pub struct ReadyEvent {
    /// What was given at `register`.
    pub token: u64,
    pub readiness: Readiness,
}

/// The world of one worker.
pub trait NetDriver: Sized + 'static {
    /// A socket; dropping it closes it.
    type Sock: 'static;
    /// A pipe for splicing; dropping it closes it.
    type Pipe: 'static;

    fn now(&self) -> MonotonicTime;

    /// Waits until something is ready or `timeout` has passed (`None`: for ever), and appends what is new.
    fn wait(&self, timeout: Option<Duration>, into: &mut Vec<ReadyEvent>) -> io::Result<()>;

    /// A listening socket that was opened elsewhere.
    fn adopt(&self, listener: OwnedFd) -> io::Result<Self::Sock>;

    /// Reports this socket's readiness under `token` from now on, edge by edge.
    fn register(&self, sock: &Self::Sock, token: u64) -> io::Result<()>;

    /// Next connection of a listener.
    fn accept(&self, listener: &Self::Sock) -> io::Result<(Self::Sock, SocketAddr)>;

    /// Our end of an accepted connection, if the driver knows it.
    fn local_address(&self, sock: &Self::Sock) -> Option<SocketAddr>;

    /// Whether this socket's descriptor is one of those reserved from workers: its client is refused.
    fn is_reserved_descriptor(&self, sock: &Self::Sock) -> bool;

    /// Stops new handshakes on a listener while those under way may still finish.
    fn refuse_handshakes(&self, listener: &Self::Sock) -> io::Result<()>;

    /// Begins a connection; it is established when the socket is writable and `established` says so.
    fn connect(&self, how: &ConnectTarget) -> io::Result<Self::Sock>;

    /// Whether a connection that was begun is established; an error says why it failed.
    fn established(&self, sock: &Self::Sock) -> io::Result<()>;

    /// Reads; 0 is the end.
    fn read(&self, sock: &Self::Sock, into: &mut [u8]) -> io::Result<usize>;

    /// Whether the connection is open and the peer has sent nothing that was not read, looked up now.
    fn is_quiet(&self, sock: &Self::Sock) -> bool;

    /// Writes. `more`: bytes that follow at once may go out together with these.
    fn write(&self, sock: &Self::Sock, from: &[u8], more: bool) -> io::Result<usize>;

    /// Sends the end; reading goes on.
    fn end(&self, sock: &Self::Sock) -> io::Result<()>;

    /// Makes dropping the socket send a reset instead of an end.
    fn reset_on_drop(&self, sock: &Self::Sock);

    /// Bytes of ours that the peer has acknowledged on this connection, if the driver knows it.
    fn acknowledged(&self, sock: &Self::Sock) -> Option<u64>;

    /// Our port of this connection, if the driver knows it.
    fn local_port(&self, sock: &Self::Sock) -> Option<u16>;

    /// What the kernel counts of this connection, if the driver knows it.
    fn counters(&self, sock: &Self::Sock) -> Option<TcpInfoSample>;

    /// A pipe, or `None` where there is no splicing.
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
