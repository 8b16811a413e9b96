//! Two hosts with several lines between them, each of its own length, whose cables can be pulled.

use std::net::Ipv4Addr;

use super::queue::Shape;
use super::wire::{Course, LineError, Wire, way};
use crate::net::Namespace;

/// The hosts and their lines; gone when dropped. Links of both hosts are `eth1`, `eth2`, …
#[derive(Debug)]
pub struct Lines {
    /// One end.
    pub client: Namespace,
    /// The other end.
    pub server: Namespace,
    // Before what they are laid through, which goes after them.
    _wire: Wire,
    between: Namespace,
}

impl Lines {
    /// Lays lines of Ethernet's usual size: each with what the client's packets meet, and what the server's do.
    ///
    /// # Errors
    /// A namespace or a link cannot be had, which takes root.
    pub fn open(shapes: &[[Shape; 2]]) -> Result<Lines, LineError> {
        Lines::open_for(shapes, 1_500)
    }

    /// The same for packets of other sizes, bytes.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_for(shapes: &[[Shape; 2]], mtu: u32) -> Result<Lines, LineError> {
        let (client, server) = (Namespace::new("client")?, Namespace::new("server")?);
        let between = Namespace::new("lines")?;
        let mut ways = Vec::new();
        for (number, shapes) in (1_u8..).zip(shapes) {
            let link = format!("eth{number}");
            let [left, right] = [format!("left{number}"), format!("right{number}")];
            let hosts = [(&client, link.as_str()), (&server, link.as_str())];
            let course = Course { mtu, ..Course::new(shapes.clone()) };
            ways.push(way(hosts, &between, [&left, &right], course)?);
            let [near, far] = Lines::addresses(number);
            client.ip(&format!("addr add {near}/24 dev {link}\n"))?;
            server.ip(&format!("addr add {far}/24 dev {link}\n"))?;
        }
        let wire = Wire::start(ways)?;
        Ok(Lines { client, server, _wire: wire, between })
    }

    /// Addresses of the client and of the server on a line; lines are counted from 1.
    pub fn addresses(number: u8) -> [Ipv4Addr; 2] {
        [Ipv4Addr::new(10, 41, number, 1), Ipv4Addr::new(10, 41, number, 2)]
    }

    /// Plugs both cables of a line in or out: neither host has a carrier there then.
    pub fn plug(&self, number: u8, plugged: bool) -> Result<(), LineError> {
        let word = if plugged { "up" } else { "down" };
        self.between
            .ip(&format!("link set left{number} {word}\nlink set right{number} {word}\n"))?;
        Ok(())
    }

    /// Plugs the server's cable alone, as where a switch lies between: the client has a carrier all the time.
    pub fn plug_server(&self, number: u8, plugged: bool) -> Result<(), LineError> {
        let word = if plugged { "up" } else { "down" };
        self.between.ip(&format!("link set right{number} {word}\n"))?;
        Ok(())
    }
}
