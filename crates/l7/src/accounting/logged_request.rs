//! The client's request for the log, borrowed until the line is written.

use std::net::SocketAddr;

use model::config::ForwardingMode;
use wire::http1::DefectDetail;

use crate::accounting::{ClientOrigin, DownstreamProtocol, FurtherFacts};

#[derive(Clone, Copy, Debug)]
pub struct LoggedRequest<'a> {
    pub client: SocketAddr,
    /// How the client was found; `None`: by the connection.
    pub origin: Option<ClientOrigin<'a>>,
    /// The request id that a trusted proxy sent.
    pub request_id: Option<&'a str>,
    pub protocol: DownstreamProtocol,
    /// The method; empty if no head was read.
    pub method: &'a [u8],
    /// The target; empty if no head was read.
    pub target: &'a [u8],
    /// The violation, if the request was rejected for one.
    pub offence: DefectDetail<'a>,
    /// What is only known where the configuration asks for it.
    pub further: FurtherFacts<'a>,
}

impl LoggedRequest<'_> {
    fn from_client(client: SocketAddr, protocol: DownstreamProtocol) -> LoggedRequest<'static> {
        LoggedRequest {
            client,
            origin: None,
            request_id: None,
            protocol,
            method: b"",
            target: b"",
            offence: DefectDetail::default(),
            further: FurtherFacts::default(),
        }
    }

    /// A connection of a `tcp` service.
    pub fn tcp(client: SocketAddr, origin: Option<ClientOrigin<'_>>) -> LoggedRequest<'_> {
        LoggedRequest { origin, ..LoggedRequest::from_client(client, DownstreamProtocol::Tcp) }
    }

    /// A multiplexed connection, or one of its requests, that could not be read.
    pub fn multiplexed(client: SocketAddr, protocol: DownstreamProtocol) -> LoggedRequest<'static> {
        LoggedRequest::from_client(client, protocol)
    }

    /// A connection without a readable request.
    pub fn unreadable(client: SocketAddr, forward: ForwardingMode) -> LoggedRequest<'static> {
        let protocol = if forward == ForwardingMode::Http {
            DownstreamProtocol::Http11
        } else {
            DownstreamProtocol::Tcp
        };
        LoggedRequest::from_client(client, protocol)
    }
}
