//! The checked configuration of Multipath TCP: by which addresses connections take further paths.

use serde::Serialize;
use std::net::IpAddr;

/// `[mptcp]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MptcpConfig {
    /// Addresses of the interfaces of this bundle's links are endpoints.
    pub bundle: Option<String>,
    /// And these.
    pub endpoints: Vec<MptcpEndpointConfig>,
    /// What endpoints are for.
    pub purpose: EndpointPurpose,
    /// Further subflows of a connection at most.
    pub subflows: u8,
}

/// An address by which connections take further paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MptcpEndpointConfig {
    /// Ours.
    pub address: IpAddr,
    /// Where its subflows leave; `None`: as the kernel routes.
    pub interface: Option<String>,
    /// What it is for.
    pub purpose: EndpointPurpose,
    /// Used only while nothing else is.
    pub backup: bool,
}

/// What an endpoint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndpointPurpose {
    /// Connections that begin here open subflows from it.
    Subflow,
    /// The far end is sent it.
    Signal,
    /// Both.
    Both,
}

impl MptcpConfig {
    /// Whether anything is to be set in the kernel.
    pub fn is_enabled(&self) -> bool {
        self.bundle.is_some() || !self.endpoints.is_empty()
    }
}

impl EndpointPurpose {
    /// Connections that begin here open subflows from it.
    pub const fn opens_subflows(self) -> bool {
        matches!(self, EndpointPurpose::Subflow | EndpointPurpose::Both)
    }

    /// The far end is sent it.
    pub const fn announces_address(self) -> bool {
        matches!(self, EndpointPurpose::Signal | EndpointPurpose::Both)
    }
}
