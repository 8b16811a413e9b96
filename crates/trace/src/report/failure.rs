//! Connections that failed, in reports.

use model::limit::TimeOwner;
use serde::Serialize;

use model::failure_code::FailureCode;

/// Connections that failed in one way.
#[derive(Clone, Debug, Serialize)]
pub struct FailureFinding {
    pub code: FailureCode,
    /// The side that is the cause.
    pub owner: TimeOwner,
    /// How many connections failed in this way.
    pub connections: u64,
    /// Of how many in all.
    pub of_connections: u64,
    /// When the first of them failed.
    pub since_seconds: f64,
    /// When the last of them failed.
    pub last_seconds: f64,
    /// The longest wait from there until the connection or the capture ended.
    pub longest_seconds: f64,
    /// Servers of these connections, the most frequent first.
    pub servers: Vec<FailureEndpoint>,
    /// Servers that are not in the list.
    pub servers_left_out: usize,
    /// Clients of these connections, without ports.
    pub clients: Vec<FailureEndpoint>,
    /// Clients that are not in the list.
    pub clients_left_out: usize,
    pub sentence: String,
    /// What to look at.
    pub check: String,
    pub evidence: FailureEvidence,
}

/// A server or a client of failed connections.
#[derive(Clone, Debug, Serialize)]
pub struct FailureEndpoint {
    pub address: String,
    pub port: Option<u16>,
    pub connections: u64,
}

/// Where to see a failure.
#[derive(Clone, Debug, Serialize)]
pub struct FailureEvidence {
    /// Number of the first such connection.
    pub connection: u32,
    pub from_packet: u32,
    pub to_packet: u32,
    /// The display filter of Wireshark that shows these packets.
    pub filter: String,
}

/// The first thing to look at: a failure, else the most significant bottleneck.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FirstCause {
    pub code: &'static str,
    pub owner: TimeOwner,
}
