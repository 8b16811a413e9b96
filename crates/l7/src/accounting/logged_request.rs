//! The client's request as the log shows it, borrowed until the line is written.

use std::net::SocketAddr;

use model::config::ForwardingMode;
use wire::http1::DefectDetail;

use crate::accounting::DownstreamProtocol;

/// A client's request, as it is logged.
#[derive(Clone, Copy, Debug)]
pub struct LoggedRequest<'a> {
    pub client: SocketAddr,
    pub protocol: DownstreamProtocol,
    /// The method; empty when no head was read.
    pub method: &'a [u8],
    /// The target; empty when no head was read.
    pub target: &'a [u8],
    /// What it broke, where that was a rule.
    pub offence: DefectDetail<'a>,
}

impl LoggedRequest<'_> {
    fn from_client(client: SocketAddr, protocol: DownstreamProtocol) -> LoggedRequest<'static> {
        LoggedRequest {
            client,
            protocol,
            method: b"",
            target: b"",
            offence: DefectDetail::default(),
        }
    }

    /// A connection of a `tcp` service.
    pub fn tcp(client: SocketAddr) -> LoggedRequest<'static> {
        LoggedRequest::from_client(client, DownstreamProtocol::Tcp)
    }

    /// A connection that carries many requests, or one of these, that could not be read.
    pub fn multiplexed(client: SocketAddr, protocol: DownstreamProtocol) -> LoggedRequest<'static> {
        LoggedRequest::from_client(client, protocol)
    }

    /// Nothing that could be read.
    pub fn unreadable(client: SocketAddr, forward: ForwardingMode) -> LoggedRequest<'static> {
        let protocol = if forward == ForwardingMode::Http {
            DownstreamProtocol::Http11
        } else {
            DownstreamProtocol::Tcp
        };
        LoggedRequest::from_client(client, protocol)
    }
}
