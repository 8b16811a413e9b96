//! What a client said, for the log: borrowed until the line is written.
//!
//! It is not parsed again.

use std::net::SocketAddr;

use model::config::Forward;

use crate::account::Protocol;

/// What a client said.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Who.
    pub client: SocketAddr,
    /// In which protocol.
    pub protocol: Protocol,
    /// The method; empty when no head was read.
    pub method: &'a [u8],
    /// The target; empty when no head was read.
    pub target: &'a [u8],
}

impl Said<'_> {
    /// A connection of a `tcp` service.
    pub fn tcp(client: SocketAddr) -> Said<'static> {
        Said { client, protocol: Protocol::Tcp, method: b"", target: b"" }
    }

    /// A connection that carries many requests, or one of these, that could not be read.
    pub fn strand(client: SocketAddr, protocol: Protocol) -> Said<'static> {
        Said { client, protocol, method: b"", target: b"" }
    }

    /// Nothing that could be read.
    pub fn nothing(client: SocketAddr, forward: Forward) -> Said<'static> {
        let protocol = if forward == Forward::Http { Protocol::Http11 } else { Protocol::Tcp };
        Said { client, protocol, method: b"", target: b"" }
    }
}
