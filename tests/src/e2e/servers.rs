//! The lab's origins in short, and addresses where nobody listens.
//!
//! What an origin answers is documented at `lab::origin`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use lab::origin::{Kind, Options, Origin};
use lab::port::Reserved;

/// An HTTP origin; its answer to `/` has 128 bytes and each answer names it in `x-origin`.
pub fn origin(name: &str) -> Origin {
    started(Options::new(name, Kind::Http { body: 128 }))
}

/// An origin that sends every byte back.
pub fn echo(name: &str) -> Origin {
    started(Options::new(name, Kind::Echo))
}

/// An origin with other options.
pub fn started(options: Options) -> Origin {
    Origin::start(options).unwrap_or_else(|error| panic!("no origin: {error}"))
}

/// A port of the IPv4 loopback that is kept free for whoever listens there on purpose.
pub fn reserved() -> Reserved {
    reserved_at(Ipv4Addr::LOCALHOST.into())
}

/// The same on another address.
pub fn reserved_at(ip: IpAddr) -> Reserved {
    Reserved::new(ip).unwrap_or_else(|error| panic!("no port of {ip}: {error}"))
}

/// The addresses of origins.
pub fn addresses(origins: &[Origin]) -> Vec<SocketAddr> {
    origins.iter().map(Origin::address).collect()
}
