//! Asks the kernel for links, addresses, routes and neighbours, listens to what changes, and sets addresses. It decides
//! nothing.

mod macvlan;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, TryStreamExt};
use l4::next_hops::{NeighbourUpdate, NextHopLink, NextHopRequest, ServerRoute};
use rtnetlink::packet_core::NetlinkPayload;
use rtnetlink::packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope, CacheInfo,
};
use rtnetlink::packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use rtnetlink::packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use rtnetlink::packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use rtnetlink::packet_route::{AddressFamily, RouteNetlinkMessage};
use rtnetlink::{Handle, MulticastGroup, RouteMessageBuilder, new_multicast_connection};
use rustix::io::Errno;
use tokio::task::JoinHandle;

/// The kernel answers at once; a socket that does not is given up.
const ANSWER: Duration = Duration::from_secs(2);

/// A neighbour of an interface as the kernel reports it.
#[derive(Clone, Debug)]
pub struct NeighbourChange {
    pub ifindex: u32,
    pub ip: IpAddr,
    pub update: NeighbourUpdate,
}

#[derive(Clone, Debug)]
pub enum NetlinkChange {
    Neighbour(NeighbourChange),
    /// A link, an address or a route.
    Other,
}

/// A connection to the kernel.
pub struct KernelNetlink {
    handle: Handle,
    changes: BoxStream<'static, NetlinkChange>,
    pump: JoinHandle<()>,
}

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignedAddress {
    pub ifindex: u32,
    pub ip: IpAddr,
}

impl Drop for KernelNetlink {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

/// An address that the kernel may select as the source of outgoing connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferredSource {
    pub interface: String,
    pub ip: IpAddr,
    /// Bits of its network.
    pub bits: u8,
}

impl KernelNetlink {
    /// Connects and begins to listen.
    ///
    /// # Errors
    /// There is no such socket.
    pub fn connect() -> io::Result<KernelNetlink> {
        let groups = [
            MulticastGroup::Link,
            MulticastGroup::Neigh,
            MulticastGroup::Ipv4Ifaddr,
            MulticastGroup::Ipv6Ifaddr,
            MulticastGroup::Ipv4Route,
            MulticastGroup::Ipv6Route,
        ];
        let (connection, handle, messages) = new_multicast_connection(&groups)?;
        let pump = tokio::spawn(connection);
        let news = messages.filter_map(|(message, _)| async move {
            match message.payload {
                NetlinkPayload::InnerMessage(inner) => parse_change(inner),
                _ => None,
            }
        });
        Ok(KernelNetlink { handle, changes: news.boxed(), pump })
    }

    /// The next change; `None` when the connection is lost.
    pub async fn next_change(&mut self) -> Option<NetlinkChange> {
        self.changes.next().await
    }

    /// All interfaces by number.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn links(
        &self,
    ) -> impl Future<Output = io::Result<HashMap<u32, NextHopLink>>> + Send + 'static {
        let all = self.handle.link().get().execute().try_collect::<Vec<_>>();
        async move {
            let all = with_timeout(all).await?;
            Ok(all
                .into_iter()
                .filter_map(|message| Some((message.header.index, link(message)?)))
                .collect())
        }
    }

    /// All addresses of this machine.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn addresses(&self) -> io::Result<Vec<AssignedAddress>> {
        let all =
            with_timeout(self.handle.address().get().execute().try_collect::<Vec<_>>()).await?;
        let mut out = Vec::new();
        for message in all {
            let mut local = None;
            let mut plain = None;
            for attribute in &message.attributes {
                match attribute {
                    AddressAttribute::Local(ip) => local = Some(*ip),
                    AddressAttribute::Address(ip) => plain = Some(*ip),
                    _ => {}
                }
            }
            let ifindex = message.header.index;
            out.extend(local.or(plain).map(|ip| AssignedAddress { ifindex, ip }));
        }
        Ok(out)
    }

    /// IPv6 addresses that the kernel may select as the source of outgoing connections: neither deprecated, link-local
    /// nor loopback.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn preferred_sources(
        &self,
        links: &HashMap<u32, String>,
    ) -> io::Result<Vec<PreferredSource>> {
        let all =
            with_timeout(self.handle.address().get().execute().try_collect::<Vec<_>>()).await?;
        let of = |message: &AddressMessage| {
            let ip = message.attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::Address(ip @ IpAddr::V6(_)) => Some(*ip),
                _ => None,
            })?;
            let header = &message.header;
            let interface = links.get(&header.index).filter(|name| *name != "lo")?.clone();
            let usable = header.scope == AddressScope::Universe
                && !header.flags.contains(AddressHeaderFlags::Deprecated);
            usable.then_some(PreferredSource { interface, ip, bits: header.prefix_len })
        };
        Ok(all.iter().filter_map(of).collect())
    }

    /// Sets an address on an interface, with the full prefix length; no error if it exists. An IPv6 address skips
    /// duplicate detection, because its previous holder has released it. It is never selected as a source of outgoing
    /// connections.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn add_address(&self, ifindex: u32, ip: IpAddr) -> io::Result<()> {
        let mut request = self.handle.address().add(ifindex, ip, host_prefix_length(ip));
        if ip.is_ipv6() {
            let message = request.message_mut();
            message.header.flags |= AddressHeaderFlags::Nodad;
            let mut life = CacheInfo::default();
            life.ifa_valid = u32::MAX;
            message.attributes.push(AddressAttribute::CacheInfo(life));
        }
        ignore_errno(tokio::time::timeout(ANSWER, request.execute()).await, Errno::EXIST)
    }

    /// Takes an address from an interface; no error when it is not there.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn remove_address(&self, ifindex: u32, ip: IpAddr) -> io::Result<()> {
        let mut named = self.handle.address().add(ifindex, ip, host_prefix_length(ip));
        let request = self.handle.address().del(named.message_mut().clone());
        ignore_errno(tokio::time::timeout(ANSWER, request.execute()).await, Errno::ADDRNOTAVAIL)
    }

    /// All neighbours.
    ///
    /// # Errors
    /// The kernel refuses.
    pub async fn neighbours(&self) -> io::Result<Vec<NeighbourChange>> {
        let all =
            with_timeout(self.handle.neighbours().get().execute().try_collect::<Vec<_>>()).await?;
        Ok(all.iter().filter_map(|message| neighbour(message, false)).collect())
    }

    /// The way to an address.
    pub async fn route(&self, ip: IpAddr) -> ServerRoute {
        let bits = if ip.is_ipv4() { 32 } else { 128 };
        let question = RouteMessageBuilder::<IpAddr>::new().destination_prefix(ip, bits);
        let Ok(question) = question else { return ServerRoute::None("no such address".to_owned()) };
        let mut answers = self.handle.route().get(question.build()).execute().boxed();
        match tokio::time::timeout(ANSWER, answers.try_next()).await {
            Ok(Ok(Some(message))) => route(ip, &message),
            Ok(Ok(None)) | Err(_) => ServerRoute::None("the kernel does not answer".to_owned()),
            Ok(Err(_)) => ServerRoute::None(format!("no route to {ip}")),
        }
    }

    /// Requests a neighbour's link address. The result arrives as a notification.
    pub async fn request_neighbour(&self, request: NextHopRequest) {
        let done = match request {
            NextHopRequest::Route(_) => return,
            NextHopRequest::Use(ifindex, ip) => with_timeout(self.used(ifindex, ip)).await,
            NextHopRequest::Confirm(ifindex, ip) => {
                let probe = self.handle.neighbours().add(ifindex, ip).replace();
                with_timeout(probe.state(NeighbourState::Probe).execute()).await
            }
            NextHopRequest::Renew(ifindex, ip) => {
                let mut message = NeighbourMessage::default();
                message.header.family =
                    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
                message.header.ifindex = ifindex;
                message.attributes.push(NeighbourAttribute::Destination(match ip {
                    IpAddr::V4(v4) => NeighbourAddress::Inet(v4),
                    IpAddr::V6(v6) => NeighbourAddress::Inet6(v6),
                }));
                // The entry may no longer exist.
                let _ = with_timeout(self.handle.neighbours().del(message).execute()).await;
                with_timeout(self.used(ifindex, ip)).await
            }
        };
        // A failed request leaves the neighbour unknown, and the state shows this.
        drop(done);
    }

    fn used(
        &self,
        ifindex: u32,
        ip: IpAddr,
    ) -> impl Future<Output = Result<(), rtnetlink::Error>> + use<> {
        let request = self.handle.neighbours().add(ifindex, ip).replace();
        request.state(NeighbourState::None).flags(NeighbourFlags::Use).execute()
    }
}

/// Bits of an address.
fn host_prefix_length(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

/// The kernel's answer, of which one refusal is as good as done.
fn ignore_errno(
    answer: Result<Result<(), rtnetlink::Error>, tokio::time::error::Elapsed>,
    done: Errno,
) -> io::Result<()> {
    match answer {
        Ok(Ok(())) => Ok(()),
        Ok(Err(rtnetlink::Error::NetlinkError(message))) => {
            let error = message.to_io();
            if error.raw_os_error() == Some(done.raw_os_error()) { Ok(()) } else { Err(error) }
        }
        Ok(Err(error)) => Err(io::Error::other(error)),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn with_timeout<T>(ask: impl Future<Output = Result<T, rtnetlink::Error>>) -> io::Result<T> {
    match tokio::time::timeout(ANSWER, ask).await {
        Ok(answer) => answer.map_err(io::Error::other),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

fn parse_change(message: RouteNetlinkMessage) -> Option<NetlinkChange> {
    match message {
        RouteNetlinkMessage::NewNeighbour(message) => {
            neighbour(&message, false).map(NetlinkChange::Neighbour)
        }
        RouteNetlinkMessage::DelNeighbour(message) => {
            neighbour(&message, true).map(NetlinkChange::Neighbour)
        }
        RouteNetlinkMessage::NewLink(_)
        | RouteNetlinkMessage::DelLink(_)
        | RouteNetlinkMessage::NewAddress(_)
        | RouteNetlinkMessage::DelAddress(_)
        | RouteNetlinkMessage::NewRoute(_)
        | RouteNetlinkMessage::DelRoute(_) => Some(NetlinkChange::Other),
        _ => None,
    }
}

fn neighbour(message: &NeighbourMessage, gone: bool) -> Option<NeighbourChange> {
    let mut ip = None;
    let mut link = None;
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(v4)) => {
                ip = Some(IpAddr::V4(*v4))
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(v6)) => {
                ip = Some(IpAddr::V6(*v6));
            }
            NeighbourAttribute::LinkLayerAddress(bytes) => {
                link = <[u8; 6]>::try_from(bytes.as_slice()).ok();
            }
            _ => {}
        }
    }
    let update = match (message.header.state, link) {
        _ if gone => NeighbourUpdate::Unresolved,
        (
            NeighbourState::Reachable | NeighbourState::Permanent | NeighbourState::Noarp,
            Some(link),
        ) => NeighbourUpdate::Confirmed(link),
        (NeighbourState::Stale | NeighbourState::Delay | NeighbourState::Probe, Some(link)) => {
            NeighbourUpdate::Stale(link)
        }
        _ => NeighbourUpdate::Unresolved,
    };
    Some(NeighbourChange { ifindex: message.header.ifindex, ip: ip?, update })
}

fn link(message: LinkMessage) -> Option<NextHopLink> {
    let flags = message.header.flags;
    let mut name = None;
    let mut address = None;
    let mut mtu = 0;
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = Some(text),
            LinkAttribute::Address(bytes) => address = <[u8; 6]>::try_from(bytes.as_slice()).ok(),
            LinkAttribute::Mtu(bytes) => mtu = bytes,
            _ => {}
        }
    }
    if flags.contains(LinkFlags::Loopback) {
        address = None;
    }
    let up = flags.contains(LinkFlags::Up) && flags.contains(LinkFlags::LowerUp);
    Some(NextHopLink { name: name?, address, mtu, up })
}

fn route(to: IpAddr, message: &RouteMessage) -> ServerRoute {
    match message.header.kind {
        RouteType::Local => return ServerRoute::Local,
        RouteType::Unicast => {}
        RouteType::BlackHole | RouteType::Unreachable | RouteType::Prohibit => {
            return ServerRoute::None(format!(
                "the route to {to} rejects packets: `ip route get {to}`"
            ));
        }
        _ => return ServerRoute::None(format!("{to} is no host: `ip route get {to}`")),
    }
    let mut ifindex = None;
    let mut next = to;
    let mut source = None;
    let ip = |address: &RouteAddress| match address {
        RouteAddress::Inet(v4) => Some(IpAddr::V4(*v4)),
        RouteAddress::Inet6(v6) => Some(IpAddr::V6(*v6)),
        _ => None,
    };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(index) => ifindex = Some(*index),
            RouteAttribute::Gateway(address) => next = ip(address).unwrap_or(next),
            RouteAttribute::PrefSource(address) => source = ip(address),
            _ => {}
        }
    }
    match ifindex {
        Some(ifindex) => ServerRoute::Via { ifindex, next, source },
        None => ServerRoute::None(format!("the route to {to} has no interface")),
    }
}
