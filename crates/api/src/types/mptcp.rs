//! Multipath TCP: by which addresses connections take further paths, and which they take.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Multipath TCP on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MptcpStatus {
    /// The kernel's endpoints.
    pub endpoints: Vec<EndpointStatus>,
    /// Connections in the daemon's network namespace.
    pub count: usize,
    /// The first of them.
    pub connections: Vec<MptcpConnection>,
    /// Why no endpoint stands.
    #[serde(alias = "trouble")]
    pub problem: Option<String>,
}

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EndpointStatus {
    /// Its number in the kernel.
    pub id: u8,
    /// The address.
    pub address: IpAddr,
    /// Connections that begin here open subflows from it.
    pub subflow: bool,
    /// The address is announced to the peer.
    pub signal: bool,
    /// Used only while nothing else is.
    pub backup: bool,
    /// This daemon set it.
    #[serde(alias = "ours")]
    pub managed: bool,
}

/// A connection of Multipath TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MptcpConnection {
    /// Our end of its first subflow.
    pub local: SocketAddr,
    /// The far end of its first subflow.
    pub remote: SocketAddr,
    /// Bytes that the far end has confirmed.
    pub sent: u64,
    /// Bytes that came.
    pub received: u64,
    /// Its subflows.
    pub subflows: Vec<Subflow>,
}

/// A subflow of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Subflow {
    /// Our end.
    pub local: SocketAddr,
    /// The far end.
    pub remote: SocketAddr,
    /// Its round trip, microseconds.
    pub round_trip_us: u32,
    /// Bytes that the far end has confirmed.
    pub sent: u64,
    /// Bytes that came.
    pub received: u64,
}
