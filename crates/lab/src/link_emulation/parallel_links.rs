//! Two hosts with several emulated links between them, each with its own delay, whose cables can be unplugged.

use std::net::Ipv4Addr;

use super::link::{EmulatedLinkError, ForwarderHandle, LinkSettings, open_link};
use super::queue::LinkShape;
use crate::net::{NetworkNamespace, VethEnd};

/// The hosts and their links; dropping them removes everything. Interfaces of both hosts are `eth1`, `eth2`, …
#[derive(Debug)]
pub struct ParallelLinks {
    pub client: NetworkNamespace,
    pub server: NetworkNamespace,
    // Must drop before the namespace that the links are in.
    _wire: ForwarderHandle,
    between: NetworkNamespace,
}

impl ParallelLinks {
    /// Creates links with the standard Ethernet MTU; each has a shape for the client's packets and one for the
    /// server's.
    ///
    /// # Errors
    /// A namespace or a link could not be created, which requires root.
    pub fn open(shapes: &[[LinkShape; 2]]) -> Result<ParallelLinks, EmulatedLinkError> {
        ParallelLinks::open_for(shapes, 1_500)
    }

    /// The same with another MTU, bytes.
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
            let hosts = [&client, &server].map(|namespace| VethEnd { namespace, link: &link });
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

    /// Plugs both cables of a link in or out. Without cables, neither host has a carrier on the link.
    pub fn set_carrier(&self, number: u8, plugged: bool) -> Result<(), EmulatedLinkError> {
        let word = if plugged { "up" } else { "down" };
        self.between
            .ip(&format!("link set left{number} {word}\nlink set right{number} {word}\n"))?;
        Ok(())
    }

    /// Plugs only the server's cable in or out, as behind a switch: the client keeps its carrier.
    pub fn set_server_carrier(&self, number: u8, plugged: bool) -> Result<(), EmulatedLinkError> {
        let word = if plugged { "up" } else { "down" };
        self.between.ip(&format!("link set right{number} {word}\n"))?;
        Ok(())
    }
}
