//! Multipath TCP: by which addresses connections take further paths, and which they take.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Multipath TCP on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MptcpStatus {
    /// Endpoints in the kernel.
    pub endpoints: Vec<EndpointStatus>,
    /// Connections in the daemon's network namespace.
    pub count: usize,
    /// Connections, at most the first ones.
    pub connections: Vec<MptcpConnection>,
    /// Why the endpoints could not be set; absent: they are set.
    #[serde(alias = "trouble")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub problem: Option<String>,
}

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EndpointStatus {
    /// Number of the endpoint in the kernel.
    pub id: u8,
    /// The address.
    pub address: IpAddr,
    /// Whether connections that begin here open subflows from it.
    pub subflow: bool,
    /// Whether the address is announced to the peer.
    pub signal: bool,
    /// Whether it is used only while no other subflow works.
    pub backup: bool,
    /// Whether this daemon created it.
    #[serde(alias = "ours")]
    pub managed: bool,
}

/// A connection of Multipath TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MptcpConnection {
    /// Local address of its first subflow.
    pub local: SocketAddr,
    /// Remote address of its first subflow.
    pub remote: SocketAddr,
    /// Bytes that the remote end acknowledged.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Its subflows.
    pub subflows: Vec<Subflow>,
}

/// A subflow of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Subflow {
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Round trip, microseconds.
    pub round_trip_us: u32,
    /// Bytes that the remote end acknowledged.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}
