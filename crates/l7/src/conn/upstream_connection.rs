//! An open connection to a server, counted while it is open.
//!
//! `upstream` creates and leases it; `servers::idle_pool` holds it while it is idle.

use std::sync::Arc;

use model::cause::Cause;
use model::circuit_breaker::BreakerPermit;
use model::config::ServerEndpoint;
use model::stats::ServerStats;
use model::time_attribution::TcpInfoDelta;

use crate::conn::client_peer::ConnectionOwner;
use crate::conn::ports::PortLease;
use crate::conn::stream::ProxyStream;
use crate::rt::NetDriver;

pub struct UpstreamConnection<N: NetDriver> {
    pub stream: ProxyStream<N>,
    pub address: ServerEndpoint,
    /// Bytes sent on the connection for exchanges.
    pub sent: u64,
    /// Length of a PROXY protocol header before them, and before TLS.
    pub preamble_bytes: u64,
    pub owner: ConnectionOwner,
    /// Counts the connection as open. A multiplexed stream has none: its connection is counted.
    pub guard: Option<UpstreamGuard>,
}

/// Why no connection to a server was made.
#[derive(Debug)]
pub struct ConnectFailure {
    pub cause: Cause,
    /// A description of the failure.
    pub reason: String,
    /// The kernel's counters of the connection on which a handshake of TLS failed.
    pub tls_counters: Option<Box<TcpInfoDelta>>,
}

impl ConnectFailure {
    pub fn new(cause: Cause, reason: String) -> ConnectFailure {
        ConnectFailure { cause, reason, tls_counters: None }
    }
}

/// Counts an open connection until dropped.
pub struct UpstreamGuard {
    live: Arc<ServerStats>,
    /// `None`: a Unix socket, which takes no port.
    _port: Option<PortLease>,
    _permit: BreakerPermit,
}

impl<N: NetDriver> UpstreamConnection<N> {
    pub fn new(
        stream: ProxyStream<N>,
        to: ServerEndpoint,
        live: Arc<ServerStats>,
        port: Option<PortLease>,
        permit: BreakerPermit,
    ) -> UpstreamConnection<N> {
        live.connections.increment();
        let guard = Some(UpstreamGuard { live, _port: port, _permit: permit });
        UpstreamConnection {
            stream,
            address: to,
            sent: 0,
            preamble_bytes: 0,
            owner: ConnectionOwner::Shared,
            guard,
        }
    }

    /// A stream of a multiplexed connection.
    pub fn from_multiplexed(stream: ProxyStream<N>, to: ServerEndpoint) -> UpstreamConnection<N> {
        UpstreamConnection {
            stream,
            address: to,
            sent: 0,
            preamble_bytes: 0,
            owner: ConnectionOwner::Shared,
            guard: None,
        }
    }

    /// Bytes sent on the wire so far.
    pub fn bytes_on_wire(&self) -> u64 {
        self.preamble_bytes + self.stream.written().unwrap_or(self.sent)
    }

    pub fn reset(self) {
        self.stream.reset_on_drop();
    }
}

impl Drop for UpstreamGuard {
    fn drop(&mut self) {
        self.live.connections.decrement();
    }
}
