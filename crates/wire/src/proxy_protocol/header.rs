//! The words of the PROXY protocol: what a header says, and what can be wrong with one.

use std::net::{IpAddr, SocketAddr};

/// The form of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    V2,
}

/// Both ends of the connection that a header tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxiedAddresses {
    /// Where it came from.
    pub source: SocketAddr,
    /// Where it went to.
    pub destination: SocketAddr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyProtocolHeader {
    pub version: ProxyVersion,
    /// `None`: it tells of no addresses that could be used, and the connection's own hold: `LOCAL`, `UNKNOWN`, `UNSPEC`
    /// and unix sockets.
    pub addresses: Option<ProxiedAddresses>,
    pub length: usize,
}

/// How far reading came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeaderResult {
    Complete(ProxyProtocolHeader),
    /// So many bytes are missing at least: whoever reads no more than these reads nothing that comes behind it.
    Partial(usize),
}

/// What is wrong with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeaderError {
    /// There is none: the bytes begin otherwise.
    Missing,
    /// Longer than is taken.
    TooLong,
    /// A line of version 1 that is none.
    BadLine,
    /// An address of version 1 that is none.
    BadAddress,
    /// A port of version 1 that is none.
    BadPort,
    /// The binary form of another version than 2.
    BadVersion,
    /// Neither `LOCAL` nor `PROXY`.
    BadCommand,
    /// A family or transport that cannot stand for a stream.
    BadFamily,
    /// Shorter than the addresses of its family.
    NoAddresses,
    /// A type-length-value that goes beyond the end, or a checksum that is none.
    BadTlv,
    /// The checksum is another one.
    BadSum,
}

impl ProxyHeaderError {
    /// Its name in the log.
    pub const fn name(self) -> &'static str {
        match self {
            ProxyHeaderError::Missing => "proxy-header-missing",
            ProxyHeaderError::TooLong => "proxy-header-too-long",
            ProxyHeaderError::BadLine => "proxy-bad-line",
            ProxyHeaderError::BadAddress => "proxy-bad-address",
            ProxyHeaderError::BadPort => "proxy-bad-port",
            ProxyHeaderError::BadVersion => "proxy-bad-version",
            ProxyHeaderError::BadCommand => "proxy-bad-command",
            ProxyHeaderError::BadFamily => "proxy-bad-family",
            ProxyHeaderError::NoAddresses => "proxy-no-addresses",
            ProxyHeaderError::BadTlv => "proxy-bad-tlv",
            ProxyHeaderError::BadSum => "proxy-bad-sum",
        }
    }
}

impl ProxiedAddresses {
    /// The same in one family: a header has room for one alone.
    pub(super) fn into_one_family(self) -> ProxiedAddresses {
        if self.source.is_ipv4() == self.destination.is_ipv4() {
            return self;
        }
        let mapped = |end: SocketAddr| match end.ip() {
            IpAddr::V4(v4) => SocketAddr::new(v4.to_ipv6_mapped().into(), end.port()),
            IpAddr::V6(_) => end,
        };
        ProxiedAddresses { source: mapped(self.source), destination: mapped(self.destination) }
    }
}
