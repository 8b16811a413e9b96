//! Measurements of an exchange beside its moments: for whom it waited, and the counters of its sockets.
//!
//! `exchange::relay` and `exchange::tunnel` fill it in. It reads no clock and no socket.

use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use model::time_attribution::{ExchangeTrace, TcpInfoDelta, WaitTimes};

/// The measurements of one exchange.
#[derive(Clone, Debug, Default)]
pub struct ExchangeSample {
    /// It was drawn, and is measured whatever its duration.
    pub sampled: bool,
    /// How the connection began, for its first exchange.
    pub connection_setup: Option<ConnectionSetup>,
    /// The group of the key exchange with the server, where the last attempt made a connection.
    pub server_group: Option<&'static str>,
    /// When the last attempt had a connection to a server.
    pub attempt: Option<MonotonicTime>,
    /// For whom it waited.
    pub awaited: WaitTimes,
    /// The client's connection was read in this exchange, for a difference.
    pub client_baseline_taken: bool,
    /// The server's connection was read in this attempt.
    pub server_baseline_taken: bool,
    /// TCP counters of both connections, once the exchange was slow or drawn.
    pub sockets: Option<Box<SocketSamples>>,
    pub tunnel: bool,
    /// Its place in a trace.
    pub trace: Option<ExchangeTrace>,
}

/// How a client's connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionSetup {
    /// From accept(2) to the first look at it.
    pub accept: Duration,
    /// Its handshake of TLS.
    pub tls: Option<Duration>,
    /// The group of that handshake's key exchange.
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

/// The TCP counters of both connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct SocketSamples {
    pub client: Option<TcpInfoDelta>,
    pub server: Option<TcpInfoDelta>,
    /// Our port towards the server; `None`: it is not known.
    pub port: Option<u16>,
    /// The client's carries several exchanges.
    pub client_shared: bool,
    pub server_shared: bool,
    /// The server's is under TLS.
    pub server_tls: bool,
}
