//! Connections of QUIC, in reports.

use model::failure_code::FailureCode;
use serde::Serialize;

/// What is seen of QUIC in a capture.
#[derive(Clone, Debug, Serialize)]
pub struct QuicReport {
    /// Datagrams of these connections.
    pub datagrams: u64,
    /// Beginnings of connections beyond the limit.
    pub beyond_limit: u64,
    /// How many connections there are, with those that an endless analysis gave up.
    pub connections_total: u32,
    pub connections: Vec<QuicConnectionReport>,
}

/// A connection of QUIC whose beginning was captured.
#[derive(Clone, Debug, Serialize)]
pub struct QuicConnectionReport {
    /// Number of the connection among those of QUIC, from 1.
    pub number: u32,
    pub client: QuicEndReport,
    pub server: QuicEndReport,
    pub version: u32,
    pub start_seconds: f64,
    /// From its first to its last datagram.
    pub seconds: f64,
    /// From the client's first packet to its first one under the keys of the finished handshake.
    pub handshake_seconds: Option<f64>,
    /// The part of the path behind the capture and of the server: until the server's first packet.
    pub handshake_server_seconds: Option<f64>,
    /// The part of the path before the capture and of the client: from there to the client's next packet.
    pub handshake_client_seconds: Option<f64>,
    /// The shortest round trip by the spin bit, where both ends use it.
    pub rtt_s: Option<f64>,
    /// Whether the server wanted the client's address proven first.
    pub retried: bool,
    /// Whether the client sent early data.
    pub early_data: bool,
    /// How its handshake failed, if it did.
    pub failure: Option<FailureCode>,
}

/// An end of a connection of QUIC, and what it sent.
#[derive(Clone, Debug, Serialize)]
pub struct QuicEndReport {
    pub address: String,
    pub port: u16,
    pub datagrams: u64,
    /// Bytes behind the headers of UDP.
    pub bytes: u64,
}
