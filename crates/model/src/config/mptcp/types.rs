//! The checked configuration of Multipath TCP: the addresses for further subflows of connections.

use serde::Serialize;
use std::net::IpAddr;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MptcpConfig {
    /// The bundle whose links' interfaces provide endpoint addresses.
    pub bundle: Option<String>,
    /// Further endpoints.
    pub endpoints: Vec<MptcpEndpointConfig>,
    pub purpose: EndpointPurpose,
    /// Limit for further subflows of a connection.
    pub subflows: u8,
}

/// An address for further subflows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MptcpEndpointConfig {
    /// The local address.
    pub address: IpAddr,
    /// The interface of its subflows; `None`: the kernel's routing decides.
    pub interface: Option<String>,
    pub purpose: EndpointPurpose,
    /// Whether it is used only when no other endpoint is.
    pub backup: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndpointPurpose {
    /// Locally opened connections create subflows from the endpoint.
    Subflow,
    /// The endpoint is announced to the far end.
    Signal,
    Both,
}

impl MptcpConfig {
    /// Whether the kernel needs any setting.
    pub fn is_enabled(&self) -> bool {
        self.bundle.is_some() || !self.endpoints.is_empty()
    }
}

impl EndpointPurpose {
    /// Whether locally opened connections create subflows from the endpoint.
    pub const fn opens_subflows(self) -> bool {
        matches!(self, EndpointPurpose::Subflow | EndpointPurpose::Both)
    }

    /// Whether the endpoint is announced to the far end.
    pub const fn announces_address(self) -> bool {
        matches!(self, EndpointPurpose::Signal | EndpointPurpose::Both)
    }
}
