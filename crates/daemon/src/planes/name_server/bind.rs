//! Sockets of the name server: bound so that the process before or after us may have the same address for a while.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};

/// Bytes of queries that may wait in the kernel for a thread: a burst of some ten thousand.
const RECEIVE: usize = 4 << 20;
/// Connections that wait to be accepted.
/// As many as the default limit of connections.
const BACKLOG: i32 = 256;

/// A socket for datagrams. `held`: the address is shared with other machines, and need not be here now.
pub(super) fn bind_udp(at: SocketAddr, held: bool) -> io::Result<Socket> {
    let socket = open(at, Type::DGRAM, Protocol::UDP, held)?;
    // As much as the kernel grants.
    socket.set_recv_buffer_size(RECEIVE)?;
    socket.bind(&at.into())?;
    Ok(socket)
}

/// A socket that listens.
pub(super) fn bind_tcp(at: SocketAddr, held: bool) -> io::Result<Socket> {
    let socket = open(at, Type::STREAM, Protocol::TCP, held)?;
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

fn open(at: SocketAddr, kind: Type, protocol: Protocol, held: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    // Several threads share an address, and so do two processes while one takes over.
    socket.set_reuse_port(true)?;
    match at {
        SocketAddr::V4(_) if held => socket.set_freebind_v4(true)?,
        SocketAddr::V6(_) if held => socket.set_freebind_v6(true)?,
        _ => {}
    }
    if at.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}
