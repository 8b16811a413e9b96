//! An emulated link between two hosts: delay, rate, queue and loss, implemented in user space because not every kernel
//! has netem.
//!
//! A client and a server each have a namespace, and a forwarder between them passes whole frames. The emulation is
//! accurate to a millisecond while a processor is free for it. This module measures nothing.

mod fault;
mod forwarder;
mod link;
mod link_chain;
mod parallel_links;
mod queue;
mod segmentation;
mod sys;
mod tap;

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use crate::net::{NetworkNamespace, VethEnd};
pub use fault::LinkFault;
pub use link::{EmulatedLinkError, ForwarderHandle, LinkSettings};
pub use link_chain::{
    CHAIN_CLIENT, CHAIN_MIDDLE, CHAIN_RETURN, CHAIN_SERVER, CHAIN_SERVICE, LinkChain,
};
pub use parallel_links::ParallelLinks;
pub use queue::{LinkCounts, LinkShape};
pub use tap::LinkTap;

/// The emulated link; dropping it removes everything.
#[derive(Debug)]
pub struct EmulatedLink {
    /// The first end. Its interface is `eth0`.
    pub client: NetworkNamespace,
    /// The second end. Its interface is `eth0`.
    pub server: NetworkNamespace,
    // Must drop before the namespace that its links are in.
    wire: ForwarderHandle,
    _between: NetworkNamespace,
}

/// Private addresses (RFC 1918) inside the link's own namespaces: nothing outside can have them.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 40, 0, 1));
pub const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 40, 0, 2));

impl EmulatedLink {
    /// Creates a link: `up` is the shape for the client's packets, `down` for the server's.
    pub fn open(up: LinkShape, down: LinkShape) -> Result<EmulatedLink, EmulatedLinkError> {
        EmulatedLink::open_with(LinkSettings::new([up, down]))
    }

    /// Creates a link with these settings; its first host is the client.
    pub fn open_with(course: LinkSettings) -> Result<EmulatedLink, EmulatedLinkError> {
        let client = NetworkNamespace::new("client")?;
        let server = NetworkNamespace::new("server")?;
        let between = NetworkNamespace::new("line")?;
        let ends = [&client, &server].map(|namespace| VethEnd { namespace, link: "eth0" });
        let wire = ForwarderHandle::connect(ends, &between, ["left", "right"], course)?;
        client.ip(&format!("addr add {CLIENT}/24 dev eth0\n"))?;
        server.ip(&format!("addr add {SERVER}/24 dev eth0\n"))?;
        Ok(EmulatedLink { client, server, wire, _between: between })
    }

    /// Stops the link; returns the counts for the client's and the server's packets.
    pub fn close(mut self) -> io::Result<[LinkCounts; 2]> {
        let ended = self.wire.stop_forwarding().unwrap_or(Ok(Vec::new()))?;
        Ok(ended.first().copied().unwrap_or_default())
    }
}
