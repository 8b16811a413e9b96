//! The data types of the PROXY protocol: the content of a header, and its possible errors.

use std::net::{IpAddr, SocketAddr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyVersion {
    /// A line of text.
    V1,
    V2,
}

/// The two addresses of the proxied connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxiedAddresses {
    pub source: SocketAddr,
    pub destination: SocketAddr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyProtocolHeader {
    pub version: ProxyVersion,
    /// `None`: the header has no usable addresses (`LOCAL`, `UNKNOWN`, `UNSPEC`, unix sockets), so the connection's own
    /// addresses apply.
    pub addresses: Option<ProxiedAddresses>,
    pub length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeaderResult {
    Complete(ProxyProtocolHeader),
    /// Minimum number of missing bytes. A reader that reads no more than these consumes nothing after the header.
    Partial(usize),
}

/// Why a header is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeaderError {
    /// There is no header: the bytes start with something else.
    Missing,
    /// Longer than the limit.
    TooLong,
    /// Version 1: the line is malformed.
    BadLine,
    /// Version 1: an address is malformed.
    BadAddress,
    /// Version 1: a port is malformed.
    BadPort,
    /// The binary form has a version other than 2.
    BadVersion,
    /// The command is neither `LOCAL` nor `PROXY`.
    BadCommand,
    /// The family or transport is not supported.
    BadFamily,
    /// Shorter than the addresses of its family.
    NoAddresses,
    /// A type-length-value that exceeds the header, or a checksum of the wrong size or repeated.
    BadTlv,
    /// The checksum does not match.
    BadSum,
}

impl ProxyHeaderError {
    /// The name in the log.
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
    /// The addresses in one family, since a header has only one: IPv4 is mapped to IPv6 if they differ.
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
