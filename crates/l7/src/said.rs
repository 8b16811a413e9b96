//! What a client said, for the log: borrowed until the line is written.
//!
//! It is not parsed again.

use std::net::SocketAddr;

use model::config::Forward;
use wire::http1::Offence;

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
    /// What it broke, where that was a rule.
    pub offence: Offence<'a>,
}

impl Said<'_> {
    fn of(client: SocketAddr, protocol: Protocol) -> Said<'static> {
        Said { client, protocol, method: b"", target: b"", offence: Offence::default() }
    }

    /// A connection of a `tcp` service.
    pub fn tcp(client: SocketAddr) -> Said<'static> {
        Said::of(client, Protocol::Tcp)
    }

    /// A connection that carries many requests, or one of these, that could not be read.
    pub fn strand(client: SocketAddr, protocol: Protocol) -> Said<'static> {
        Said::of(client, protocol)
    }

    /// Nothing that could be read.
    pub fn nothing(client: SocketAddr, forward: Forward) -> Said<'static> {
        let protocol = if forward == Forward::Http { Protocol::Http11 } else { Protocol::Tcp };
        Said::of(client, protocol)
    }
}
