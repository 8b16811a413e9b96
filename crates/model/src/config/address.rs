//! Where a server is: an address or a name, and a port. It resolves no name.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerAddress {
    /// Address or name.
    pub host: ServerHost,
    /// TCP port.
    pub port: u16,
}

/// An address, or a name that control work resolves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerHost {
    /// An address.
    Ip(IpAddr),
    /// A DNS name.
    Name(String),
}

impl fmt::Display for ServerAddress {
    /// As written in the file: `10.0.0.11:8080`, `[2001:db8::11]:8080`, `name.example:8080`.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            ServerHost::Ip(ip) => write!(to, "{}", SocketAddr::new(*ip, self.port)),
            ServerHost::Name(name) => write!(to, "{name}:{}", self.port),
        }
    }
}
