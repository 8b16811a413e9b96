//! One raw socket for each group: advertisements go out by it, with the hop limit that proves they are of this link.
//!
//! It joins the multicast group, so that links and switches let advertisements in; it reads nothing.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use ha::advert::{GROUP_V4, GROUP_V6, HOPS, PROTOCOL};
use ha::frame::CONTROL;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockAddr, SockFilter, Socket, Type};

/// A filter that takes nothing: raw sockets get a copy of each packet.
static DROP_ALL_FILTER: [SockFilter; 1] = [SockFilter::new(0x06, 0, 0, 0)];

/// The socket of a group.
#[derive(Debug)]
pub struct TxSocket {
    socket: Socket,
    ifindex: u32,
}

impl TxSocket {
    /// Opens it at an interface, with our address there.
    ///
    /// # Errors
    /// The right to open raw sockets is missing, or the address is not there (yet).
    pub fn open(interface: &str, ifindex: u32, source: IpAddr) -> io::Result<TxSocket> {
        let domain = if source.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(i32::from(PROTOCOL))))?;
        socket.attach_filter(&DROP_ALL_FILTER)?;
        socket.set_nonblocking(true)?;
        socket.bind_device(Some(interface.as_bytes()))?;
        let hops = u32::from(HOPS);
        if source.is_ipv4() {
            socket.set_ttl_v4(hops)?;
            socket.set_multicast_ttl_v4(hops)?;
            socket.set_multicast_loop_v4(false)?;
            socket.set_tos_v4(u32::from(CONTROL))?;
            socket.join_multicast_v4_n(&GROUP_V4, &InterfaceIndexOrAddress::Index(ifindex))?;
        } else {
            socket.set_unicast_hops_v6(hops)?;
            socket.set_multicast_hops_v6(hops)?;
            socket.set_multicast_loop_v6(false)?;
            socket.set_multicast_if_v6(ifindex)?;
            socket.join_multicast_v6(&GROUP_V6, ifindex)?;
        }
        socket.bind(&address(source, ifindex))?;
        Ok(TxSocket { socket, ifindex })
    }

    /// Sends a payload behind an IP header.
    ///
    /// # Errors
    /// The link is down, there is no way, or its queue is full.
    pub fn send(&self, bytes: &[u8], to: IpAddr) -> io::Result<()> {
        self.socket.send_to(bytes, &address(to, self.ifindex)).map(drop)
    }
}

fn address(ip: IpAddr, ifindex: u32) -> SockAddr {
    match ip {
        IpAddr::V4(_) => SocketAddr::new(ip, 0).into(),
        IpAddr::V6(v6) => {
            let local = v6.is_unicast_link_local() || v6.is_multicast();
            SocketAddrV6::new(v6, 0, 0, if local { ifindex } else { 0 }).into()
        }
    }
}
