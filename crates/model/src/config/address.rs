//! The address of a server: an IP address or a name, and a port. It resolves no name.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerAddress {
    pub host: ServerHost,
    pub port: u16,
}

/// An IP address, or a DNS name that the control thread resolves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerHost {
    Ip(IpAddr),
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
