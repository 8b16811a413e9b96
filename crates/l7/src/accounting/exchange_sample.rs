//! Additional measurements of an exchange: wait times by reason, and the counters of its sockets.
//!
//! `exchange::relay` and `exchange::tunnel` fill in the values. No clock and no socket is read here.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use model::time_attribution::{
    ExchangeTrace, RequestDrain, TcpInfoDelta, TcpInfoSample, WaitTimes,
};

#[derive(Clone, Debug, Default)]
pub struct ExchangeSample {
    /// The exchange was chosen by sampling: it is measured regardless of its duration.
    pub sampled: bool,
    /// Times of the connection setup, for a connection's first exchange.
    pub connection_setup: Option<ConnectionSetup>,
    /// The key exchange group of the server connection, if the last attempt made one.
    pub server_group: Option<&'static str>,
    /// When the last attempt had a connection to a server.
    pub attempt: Option<MonotonicTime>,
    /// Wait times by reason.
    pub awaited: WaitTimes,
    /// The client socket's counters were read during this exchange, as a baseline.
    pub client_baseline_taken: bool,
    /// The server socket's counters were read during this attempt, as a baseline.
    pub server_baseline_taken: bool,
    /// TCP counters of both connections, for a slow or sampled exchange.
    pub sockets: Option<Box<SocketSamples>>,
    /// The server socket's counters when the last byte of a long request had been written.
    pub request_end: Option<Box<TcpInfoSample>>,
    pub request_drain: RequestDrain,
    pub tunnel: bool,
    /// The trace that the exchange is part of.
    pub trace: Option<ExchangeTrace>,
}

/// The setup of a client's connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionSetup {
    /// From accept(2) until the connection's task ran.
    pub accept: Duration,
    /// Duration of the TLS handshake.
    pub tls: Option<Duration>,
    /// The key exchange group of the TLS handshake.
    pub group: Option<&'static str>,
}

impl ConnectionSetup {
    pub fn new(
        accept: Duration,
        tls: Option<Duration>,
        group: Option<&'static str>,
    ) -> ConnectionSetup {
        ConnectionSetup { accept, tls, group }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SocketSamples {
    pub client: Option<TcpInfoDelta>,
    pub server: Option<TcpInfoDelta>,
    /// The balancer's port on the server connection; `None`: unknown.
    pub port: Option<u16>,
    /// The client's connection carries several exchanges.
    pub client_shared: bool,
    /// The client's connection is one of QUIC.
    pub client_quic: bool,
    pub server_shared: bool,
    /// The server's connection uses TLS.
    pub server_tls: bool,
}
