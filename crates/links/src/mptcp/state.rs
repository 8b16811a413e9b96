//! What this daemon set of Multipath TCP, as its state file holds it: each entry is an array there. Pure.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// An endpoint of the kernel that this daemon set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u8, IpAddr)", into = "(u8, IpAddr)")]
pub struct OwnMptcpEndpoint {
    /// The kernel's number of the endpoint.
    pub id: u8,
    pub ip: IpAddr,
}

/// The kernel's limits for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct MptcpLimits {
    /// Addresses that the far end announces and that get subflows.
    pub accepted_addresses: u32,
    /// Subflows beyond the first one.
    pub subflows: u32,
}

impl From<(u8, IpAddr)> for OwnMptcpEndpoint {
    fn from((id, ip): (u8, IpAddr)) -> OwnMptcpEndpoint {
        OwnMptcpEndpoint { id, ip }
    }
}

impl From<OwnMptcpEndpoint> for (u8, IpAddr) {
    fn from(endpoint: OwnMptcpEndpoint) -> (u8, IpAddr) {
        (endpoint.id, endpoint.ip)
    }
}

impl From<(u32, u32)> for MptcpLimits {
    fn from((accepted_addresses, subflows): (u32, u32)) -> MptcpLimits {
        MptcpLimits { accepted_addresses, subflows }
    }
}

impl From<MptcpLimits> for (u32, u32) {
    fn from(limits: MptcpLimits) -> (u32, u32) {
        (limits.accepted_addresses, limits.subflows)
    }
}
