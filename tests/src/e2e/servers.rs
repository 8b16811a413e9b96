//! Short constructors for the lab's origins, and reserved addresses without a listener.
//!
//! `lab::origin` documents the responses of an origin.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use lab::port::ReservedPort;

/// An HTTP origin. Its response to `/` has 128 bytes, and every response has the name in `x-origin`.
pub fn origin(name: &str) -> TestOrigin {
    start_with(OriginOptions::new(name, OriginKind::Http { body: 128 }))
}

/// An origin that sends every byte back.
pub fn echo(name: &str) -> TestOrigin {
    start_with(OriginOptions::new(name, OriginKind::Echo))
}

/// An origin with other options.
pub fn start_with(options: OriginOptions) -> TestOrigin {
    TestOrigin::start(options).unwrap_or_else(|error| panic!("no origin: {error}"))
}

/// A reserved port of the IPv4 loopback. Only the test itself may listen on it.
pub fn reserve_port() -> ReservedPort {
    reserve_port_at(Ipv4Addr::LOCALHOST.into())
}

/// As `reserve_port`, at another address.
pub fn reserve_port_at(ip: IpAddr) -> ReservedPort {
    ReservedPort::new(ip).unwrap_or_else(|error| panic!("no port of {ip}: {error}"))
}

/// The addresses of origins.
pub fn addresses(origins: &[TestOrigin]) -> Vec<SocketAddr> {
    origins.iter().map(TestOrigin::address).collect()
}
