//! A long line between two hosts: delay, rate, queue and loss, made in user space where the kernel has none.
//!
//! A client and a server, each in a namespace, with a forwarder between them that passes whole frames. It is accurate to
//! a millisecond while the machine has a processor for it; it measures nothing.

mod chain;
mod fault;
mod lines;
mod queue;
mod shell;
mod sys;
mod tap;
mod train;
mod wire;

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use crate::net::Namespace;
pub use chain::{CHAIN_CLIENT, CHAIN_MIDDLE, CHAIN_RETURN, CHAIN_SERVER, CHAIN_SERVICE, Chain};
pub use fault::Fault;
pub use lines::Lines;
pub use queue::{Counts, Shape};
pub use tap::Tap;
pub use wire::{Course, LineError, Wire};

/// The line; gone when dropped.
#[derive(Debug)]
pub struct Line {
    /// One end. Its link is `eth0`.
    pub client: Namespace,
    /// The other end. Its link is `eth0`.
    pub server: Namespace,
    // Before what it is laid through, which goes after it.
    wire: Wire,
    _between: Namespace,
}

/// The client's address.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 40, 0, 1));
/// The server's.
pub const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 40, 0, 2));

impl Line {
    /// Lays a line: `up` is what the client's packets meet, `down` what the server's do.
    pub fn open(up: Shape, down: Shape) -> Result<Line, LineError> {
        Line::lay(Course::new([up, down]))
    }

    /// Lays one of this course; its first host is the client.
    pub fn lay(course: Course) -> Result<Line, LineError> {
        let (client, server) = (Namespace::new("client")?, Namespace::new("server")?);
        let between = Namespace::new("line")?;
        let ends = [(&client, "eth0"), (&server, "eth0")];
        let wire = Wire::lay(ends, &between, ["left", "right"], course)?;
        client.ip(&format!("addr add {CLIENT}/24 dev eth0\n"))?;
        server.ip(&format!("addr add {SERVER}/24 dev eth0\n"))?;
        Ok(Line { client, server, wire, _between: between })
    }

    /// Ends it; what was done with packets of the client and of the server.
    pub fn close(mut self) -> io::Result<[Counts; 2]> {
        let ended = self.wire.end().unwrap_or(Ok(Vec::new()))?;
        Ok(ended.first().copied().unwrap_or_default())
    }
}
