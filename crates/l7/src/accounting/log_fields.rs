//! What a line of the access log is written from, beside the record of its exchange.

use std::net::SocketAddr;

use model::time_attribution::TimeShare;
use wire::http1::DefectDetail;

use super::captured_fields::CapturedFields;

/// The client's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownstreamProtocol {
    Http10,
    Http11,
    Http2,
    Http3,
    Tcp,
}

impl DownstreamProtocol {
    pub const fn name(self) -> &'static str {
        match self {
            DownstreamProtocol::Http10 => "HTTP/1.0",
            DownstreamProtocol::Http11 => "HTTP/1.1",
            DownstreamProtocol::Http2 => "HTTP/2",
            DownstreamProtocol::Http3 => "HTTP/3",
            DownstreamProtocol::Tcp => "TCP",
        }
    }
}

/// The texts in a line, borrowed only while the line is written.
#[derive(Clone, Copy, Debug)]
pub struct LogFields<'a> {
    pub service: &'a str,
    /// The server of the last attempt.
    pub server: Option<LoggedServer<'a>>,
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
    /// The part of the request that violated a rule.
    pub offence: DefectDetail<'a>,
    /// How many exchanges this one stands for, where that is more than one.
    pub weight: Option<f64>,
    /// The side that took most of a slow exchange's time.
    pub slow: Option<TimeShare>,
    /// What is only known where the configuration asks for it.
    pub further: FurtherFacts<'a>,
}

/// Facts of a request for which the configuration of the access log asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct FurtherFacts<'a> {
    /// Fields and cookies as the client sent them.
    pub captured: Option<&'a CapturedFields>,
    /// The name that the client asked for by TLS.
    pub sni: Option<&'a str>,
    pub tls_version: Option<&'static str>,
    /// The rule that took the request.
    pub rule: Option<&'a str>,
}

/// What becomes of an exchange in the access log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogDecision {
    Skipped,
    Logged {
        /// How many exchanges it stands for, where only a share of its kind is logged.
        weight: Option<f64>,
    },
}

/// How a client was found that is not the peer of its connection, or that a trusted peer should have named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOrigin<'a> {
    /// The peer of the connection.
    pub connection: SocketAddr,
    /// `proxy-header`, or the name of the field.
    pub source: &'a str,
    /// Why no further address was taken from the field.
    pub stop: Option<&'static str>,
    /// Addresses that were taken.
    pub hops: u16,
}

/// A server as a line names it.
#[derive(Clone, Copy, Debug)]
pub struct LoggedServer<'a> {
    pub pool: &'a str,
    pub name: &'a str,
}
