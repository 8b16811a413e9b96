//! The checked configuration of Multipath TCP: by which addresses connections take further paths.

use std::net::IpAddr;

use serde::Serialize;

/// `[mptcp]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Mptcp {
    /// Addresses of the interfaces of this bundle's links are endpoints.
    pub bundle: Option<String>,
    /// And these.
    pub endpoints: Vec<Endpoint>,
    /// What endpoints are for.
    pub purpose: Purpose,
    /// Further subflows of a connection at most.
    pub subflows: u8,
}

/// An address by which connections take further paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Endpoint {
    /// Ours.
    pub address: IpAddr,
    /// Where its subflows leave; `None`: as the kernel routes.
    pub interface: Option<String>,
    /// What it is for.
    pub purpose: Purpose,
    /// Used only while nothing else is.
    pub backup: bool,
}

/// What an endpoint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Connections that begin here open subflows from it.
    Subflow,
    /// The far end is told of it.
    Signal,
    /// Both.
    Both,
}

impl Mptcp {
    /// Whether anything is to be set in the kernel.
    pub fn wanted(&self) -> bool {
        self.bundle.is_some() || !self.endpoints.is_empty()
    }
}

impl Purpose {
    /// Connections that begin here open subflows from it.
    pub const fn opens(self) -> bool {
        matches!(self, Purpose::Subflow | Purpose::Both)
    }

    /// The far end is told of it.
    pub const fn tells(self) -> bool {
        matches!(self, Purpose::Signal | Purpose::Both)
    }
}
