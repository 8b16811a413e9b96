//! A bundle's device in the kernel: a pair of virtual links whose one end carries the bundle's name, addresses and
//! routes, and whose other end is where packets are held. It decides nothing.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::stream::TryStreamExt;
use model::config::IpPrefix;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::address::AddressHeaderFlags;
use rtnetlink::packet_route::link::{LinkAttribute, LinkFlags};
use rtnetlink::packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage};
use rtnetlink::packet_route::route::RouteScope;
use rtnetlink::{Handle, LinkUnspec, LinkVeth, RouteMessageBuilder, new_connection};
use rustix::io::Errno;
use tokio::task::JoinHandle;

/// The kernel answers at once; a socket that does not is given up.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Segments of one packet as the device takes it, where a flow stays: the kernel's usual.
const MANY: u32 = 65_535;

/// The name of a device's other end.
pub fn peer_name(name: &str) -> String {
    format!("{name}~")
}

/// A connection to the kernel.
#[derive(Debug)]
pub struct BundleNetlink {
    handle: Handle,
    pump: JoinHandle<()>,
}

impl Drop for BundleNetlink {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl BundleNetlink {
    /// Connects.
    ///
    /// # Errors
    /// There is no such socket.
    pub fn connect() -> io::Result<BundleNetlink> {
        let (connection, handle, _) = new_connection()?;
        Ok(BundleNetlink { handle, pump: tokio::spawn(connection) })
    }

    /// Reads whether an interface has a carrier and is up; a missing one has none. `None`: the kernel does not answer,
    /// for instance because it is busy with other interfaces.
    pub fn carrier(&self, ifindex: u32) -> impl Future<Output = Option<bool>> + Send + 'static {
        let handle = self.handle.clone();
        async move {
            let mut answers = Box::pin(handle.link().get().match_index(ifindex).execute());
            let answer = tokio::time::timeout(REPLY_TIMEOUT, answers.try_next()).await.ok()?;
            let flags = match answer {
                Ok(Some(answer)) => answer.header.flags,
                Ok(None) | Err(rtnetlink::Error::NetlinkError(_)) => return Some(false),
                Err(_) => return None,
            };
            Some(flags.contains(LinkFlags::Up) && flags.contains(LinkFlags::LowerUp))
        }
    }

    /// Drops packets that wait for a next hop's link address, before the kernel's three queries have failed. TCP
    /// retransmits nothing while its packets wait on its own host. An unknown hop has no such packets.
    pub fn flush_neighbor(&self, ifindex: u32, hop: IpAddr) {
        let mut message = NeighbourMessage::default();
        let (family, address) = match hop {
            IpAddr::V4(v4) => (AddressFamily::Inet, NeighbourAddress::Inet(v4)),
            IpAddr::V6(v6) => (AddressFamily::Inet6, NeighbourAddress::Inet6(v6)),
        };
        message.header.family = family;
        message.header.ifindex = ifindex;
        message.attributes.push(NeighbourAttribute::Destination(address));
        let asked = self.handle.neighbours().del(message).execute();
        tokio::spawn(tokio::time::timeout(REPLY_TIMEOUT, asked));
    }

    /// Makes both ends of a bundle's device.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn create_device(&self, name: &str) -> io::Result<()> {
        let pair = LinkVeth::new(name, &peer_name(name)).build();
        done(self.handle.link().add(pair).execute(), None).await
    }

    /// Sets an end up; `together`: packets of a stream that come to it as one at most, where each is chosen for.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn set_up(&self, ifindex: u32, mtu: u32, together: Option<u32>) -> io::Result<()> {
        let segments = LinkAttribute::GsoMaxSegs(together.unwrap_or(MANY));
        let link = LinkUnspec::new_with_index(ifindex)
            .mtu(mtu)
            // Next hops belong to the links: the device itself sends no ARP.
            .arp(false)
            .append_extra_attribute(segments)
            .up();
        done(self.handle.link().set(link.build()).execute(), None).await
    }

    /// Removes a device with its other end; no error if it does not exist.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn remove(&self, ifindex: u32) -> io::Result<()> {
        done(self.handle.link().del(ifindex).execute(), Some(Errno::NODEV)).await
    }

    /// Sets an address; no error when it is there.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn add_address(&self, ifindex: u32, ip: IpAddr) -> io::Result<()> {
        let mut request = self.handle.address().add(ifindex, ip, host_prefix_length(ip));
        if ip.is_ipv6() {
            request.message_mut().header.flags |= AddressHeaderFlags::Nodad;
        }
        done(request.execute(), Some(Errno::EXIST)).await
    }

    /// Takes an address away; no error when it is not there.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn remove_address(&self, ifindex: u32, ip: IpAddr) -> io::Result<()> {
        let mut named = self.handle.address().add(ifindex, ip, host_prefix_length(ip));
        let request = self.handle.address().del(named.message_mut().clone());
        done(request.execute(), Some(Errno::ADDRNOTAVAIL)).await
    }

    /// Sends a network over the device; `false`: there is a route to it already.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn add_route(&self, ifindex: u32, to: IpPrefix) -> io::Result<bool> {
        let message = route(ifindex, to)?;
        match done(self.handle.route().add(message).execute(), None).await {
            Err(error) if error.raw_os_error() == Some(Errno::EXIST.raw_os_error()) => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Sends a network over the device no more; no error when it is not.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn remove_route(&self, ifindex: u32, to: IpPrefix) -> io::Result<()> {
        let message = route(ifindex, to)?;
        done(self.handle.route().del(message).execute(), Some(Errno::SRCH)).await
    }
}

fn route(ifindex: u32, to: IpPrefix) -> io::Result<rtnetlink::packet_route::route::RouteMessage> {
    let builder = RouteMessageBuilder::<IpAddr>::new()
        .destination_prefix(to.address(), to.bits())
        .map_err(io::Error::other)?;
    // Without a gateway the kernel treats all destinations as on the link.
    let scope = if to.address().is_ipv4() { RouteScope::Link } else { RouteScope::Universe };
    Ok(builder.output_interface(ifindex).scope(scope).build())
}

/// Bits of an address.
fn host_prefix_length(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

/// The kernel's answer, of which one refusal may be as good as done.
async fn done(
    ask: impl Future<Output = Result<(), rtnetlink::Error>>,
    as_good: Option<Errno>,
) -> io::Result<()> {
    match tokio::time::timeout(REPLY_TIMEOUT, ask).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(rtnetlink::Error::NetlinkError(message))) => {
            let error = message.to_io();
            let fine = as_good.is_some_and(|one| error.raw_os_error() == Some(one.raw_os_error()));
            if fine { Ok(()) } else { Err(error) }
        }
        Ok(Err(error)) => Err(io::Error::other(error)),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
