//! The checked configuration of where servers of a pool are found.

use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where servers of a pool are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DiscoveryConfig {
    /// Where.
    pub place: DiscoverySource,
    /// An answer with fewer servers is not believed.
    pub min: usize,
    /// Servers taken from one answer.
    pub max: usize,
}

/// A place where servers are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscoverySource {
    /// A name.
    Dns {
        /// The name.
        name: String,
        /// Which records.
        records: DnsRecordType,
        /// The servers' port; SRV records bring their own.
        port: u16,
        /// Whom to ask; `None`: as the system does.
        resolver: Option<SocketAddr>,
    },
    /// A file that is watched.
    File(PathBuf),
}

/// Which records of a name are servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DnsRecordType {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Names with ports, weights and priorities (RFC 2782).
    Srv,
}
