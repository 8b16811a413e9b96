//! The checked configuration of service discovery.

use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Discovery of a pool's servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DiscoveryConfig {
    pub place: DiscoverySource,
    /// Results with fewer servers are ignored.
    pub min: usize,
    /// Limit for the servers of one result.
    pub max: usize,
}

/// The source of a pool's servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscoverySource {
    Dns {
        name: String,
        records: DnsRecordType,
        /// The servers' port; SRV records contain their own.
        port: u16,
        /// The DNS server to query; `None`: the system's.
        resolver: Option<SocketAddr>,
    },
    /// A file that is watched for changes.
    File(PathBuf),
}

/// The DNS records that contain servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DnsRecordType {
    A,
    Aaaa,
    /// Names with ports, weights and priorities (RFC 2782).
    Srv,
}
