//! Two hosts with several lines between them, each of its own length, whose cables can be pulled.

use std::net::Ipv4Addr;

use super::link::{EmulatedLinkError, ForwarderHandle, LinkSettings, open_link};
use super::queue::LinkShape;
use crate::net::NetworkNamespace;

/// The hosts and their lines; gone when dropped. Links of both hosts are `eth1`, `eth2`, …
#[derive(Debug)]
pub struct ParallelLinks {
    pub client: NetworkNamespace,
    pub server: NetworkNamespace,
    // Before what they are laid through, which goes after them.
    _wire: ForwarderHandle,
    between: NetworkNamespace,
}

impl ParallelLinks {
    /// Lays lines of Ethernet's usual size: each with what the client's packets meet, and what the server's do.
    ///
    /// # Errors
    /// A namespace or a link cannot be had, which takes root.
    pub fn open(shapes: &[[LinkShape; 2]]) -> Result<ParallelLinks, EmulatedLinkError> {
        ParallelLinks::open_for(shapes, 1_500)
    }

    /// The same for packets of other sizes, bytes.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_for(
        shapes: &[[LinkShape; 2]],
        mtu: u32,
    ) -> Result<ParallelLinks, EmulatedLinkError> {
        let client = NetworkNamespace::new("client")?;
        let server = NetworkNamespace::new("server")?;
        let between = NetworkNamespace::new("lines")?;
        let mut ways = Vec::new();
        for (number, shapes) in (1_u8..).zip(shapes) {
            let link = format!("eth{number}");
            let [left, right] = [format!("left{number}"), format!("right{number}")];
            let hosts = [(&client, link.as_str()), (&server, link.as_str())];
            let course = LinkSettings { mtu, ..LinkSettings::new(shapes.clone()) };
            ways.push(open_link(hosts, &between, [&left, &right], course)?);
            let [near, far] = ParallelLinks::addresses(number);
            client.ip(&format!("addr add {near}/24 dev {link}\n"))?;
            server.ip(&format!("addr add {far}/24 dev {link}\n"))?;
        }
        let wire = ForwarderHandle::start(ways)?;
        Ok(ParallelLinks { client, server, _wire: wire, between })
    }

    /// Addresses of the client and of the server on a line; lines are counted from 1.
    pub fn addresses(number: u8) -> [Ipv4Addr; 2] {
        [Ipv4Addr::new(10, 41, number, 1), Ipv4Addr::new(10, 41, number, 2)]
    }

    /// Plugs both cables of a line in or out: neither host has a carrier there then.
    pub fn set_carrier(&self, number: u8, plugged: bool) -> Result<(), EmulatedLinkError> {
        let word = if plugged { "up" } else { "down" };
        self.between
            .ip(&format!("link set left{number} {word}\nlink set right{number} {word}\n"))?;
        Ok(())
    }

    /// Plugs the server's cable alone, as where a switch lies between: the client has a carrier all the time.
    pub fn set_server_carrier(&self, number: u8, plugged: bool) -> Result<(), EmulatedLinkError> {
        let word = if plugged { "up" } else { "down" };
        self.between.ip(&format!("link set right{number} {word}\n"))?;
        Ok(())
    }
}
