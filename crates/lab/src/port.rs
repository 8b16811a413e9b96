//! Reserves ports that the kernel chose, so that no other process is given them before a server listens there.
//!
//! For listeners that set SO_REUSEADDR and SO_REUSEPORT, as the balancer's do. It accepts no connection itself.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with, sockopt,
};

/// A port that the kernel assigns to no other socket while this value lives. A socket that binds the number explicitly
/// with SO_REUSEPORT gets it.
#[derive(Debug)]
pub struct ReservedPort {
    address: SocketAddr,
    _socket: OwnedFd,
}

impl ReservedPort {
    /// A free port of `ip`.
    pub fn new(ip: IpAddr) -> Result<ReservedPort, Errno> {
        let socket = bind_socket(SocketAddr::new(ip, 0), true)?;
        let address = SocketAddr::try_from(getsockname(&socket)?)?;
        Ok(ReservedPort { address, _socket: socket })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A socket bound to `address`; `shared`: even if another socket of this process has the address.
pub(crate) fn bind_socket(address: SocketAddr, shared: bool) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, shared)?;
    bind(&socket, &address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{accept_with, connect, listen};
    use std::net::Ipv4Addr;

    #[test]
    fn a_reserved_port_can_be_claimed_and_listened_on() {
        let reserved = ReservedPort::new(Ipv4Addr::LOCALHOST.into()).unwrap();
        drop(bind_socket(reserved.address(), false).unwrap());
        let listener = bind_socket(reserved.address(), true).unwrap();
        listen(&listener, 4).unwrap();
        let client = bind_socket(SocketAddr::from(([127, 0, 0, 1], 0)), false).unwrap();
        assert!(matches!(connect(&client, &reserved.address()), Ok(()) | Err(Errno::INPROGRESS)));
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while accept_with(&listener, SocketFlags::CLOEXEC).is_err() {
            assert!(std::time::Instant::now() < deadline);
            std::thread::yield_now();
        }
    }
}
