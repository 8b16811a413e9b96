//! Listening and outgoing sockets with the settings of a service or pool.
//!
//! A listener is configured so that accepted sockets inherit every setting: a worker needs no further system call for
//! settings. Workers accept and connect.

mod listen_error;
mod port_holder;
mod socket_option;
#[cfg(test)]
mod tests;
mod unix_socket;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};

use model::config::SocketOptions;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

pub use listen_error::ListenError;
pub use port_holder::PortHolder;
pub use socket_option::{SocketOptionError, needs_reopening};
pub use unix_socket::{begin_connect, describe_connect_error, outgoing_unix};

use crate::rt::sys;

/// Whether an address is expected to be free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClaim {
    /// No process listens there. SO_REUSEPORT alone would let two processes of one user share a port unnoticed, so the
    /// address is first bound without it.
    Alone,
    /// The process's own sockets listen there or beside it (a wildcard and an address, an old and a new socket).
    Shared,
}

/// Opens `count` listening sockets of one SO_REUSEPORT group. With port 0 the kernel chooses one port for all.
///
/// # Errors
/// The rejected setting, or why the address is not available, with advice.
pub fn listeners(
    address: SocketAddr,
    options: &SocketOptions,
    count: usize,
    claim: AddressClaim,
) -> Result<Vec<OwnedFd>, ListenError> {
    let bound = bind(address, options, count, claim)?;
    for socket in &bound {
        listen(socket.as_fd(), address, options)?;
    }
    Ok(bound)
}

/// Opens one listening socket at an address that may be shared.
///
/// # Errors
/// As `listeners`.
pub fn listener(address: SocketAddr, options: &SocketOptions) -> Result<OwnedFd, ListenError> {
    let socket = bind_one(address, options, AddressClaim::Shared)?;
    listen(socket.as_fd(), address, options)?;
    Ok(socket)
}

/// The first half of `listeners`: sockets that are bound but do not listen yet. So several addresses can be claimed
/// before any of them accepts a connection.
///
/// # Errors
/// As `listeners`.
pub fn bind(
    address: SocketAddr,
    options: &SocketOptions,
    count: usize,
    claim: AddressClaim,
) -> Result<Vec<OwnedFd>, ListenError> {
    if claim == AddressClaim::Alone && address.port() != 0 {
        // Bound without SO_REUSEPORT and closed again.
        drop(bind_claimed(address, options, false)?);
    }
    let mut sockets = Vec::with_capacity(count);
    let mut exact = address;
    for _ in 0..count {
        let socket = bind_one(exact, options, AddressClaim::Shared)?;
        if exact.port() == 0 {
            exact = local_address(socket.as_fd())
                .map_err(|source| ListenError::system(address, "read the port of", source))?;
        }
        sockets.push(socket);
    }
    Ok(sockets)
}

/// The second half of `listeners`. For a socket that already listens it changes the backlog.
///
/// # Errors
/// Another process has started to listen meanwhile.
pub fn listen(
    socket: BorrowedFd<'_>,
    address: SocketAddr,
    options: &SocketOptions,
) -> Result<(), ListenError> {
    if takes_packets(socket) {
        return Ok(());
    }
    let backlog = i32::try_from(options.backlog).unwrap_or(i32::MAX);
    SockRef::from(&socket)
        .listen(backlog)
        .map_err(|source| ListenError::address(address, options, source))
}

/// Takes over a listening socket from systemd or the previous process: checks that it is one, and applies these
/// settings. The settings of `needs_reopening` do not change: see `has_fixed_options`.
///
/// # Errors
/// It is not a listening TCP socket, or a setting was rejected.
pub fn adopt(socket: OwnedFd, options: &SocketOptions) -> Result<OwnedFd, ListenError> {
    let address = listening_address(socket.as_fd()).ok_or(ListenError::NotListening)?;
    rustix::io::ioctl_fionbio(&socket, true)
        .and_then(|()| rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC))
        .map_err(|source| ListenError::system(address, "take over", source.into()))?;
    change_options(socket.as_fd(), options)?;
    Ok(socket)
}

/// Changes the settings of an open listener; connections accepted earlier keep theirs.
///
/// # Errors
/// A setting was rejected; the settings before it have been applied.
pub fn change_options(socket: BorrowedFd<'_>, options: &SocketOptions) -> Result<(), ListenError> {
    if takes_packets(socket) {
        // The settings that may change while a socket is in use apply to connections only.
        return Ok(());
    }
    let address = listening_address(socket).ok_or(ListenError::NotListening)?;
    socket_option::listening(socket, address, options, socket_option::SocketFreshness::No)
        .map_err(|refused| ListenError::Setting { address, refused })?;
    listen(socket, address, options)
}

/// Takes ownership of a descriptor that this process was started with (sd_listen_fds(3)), and sets close-on-exec. Call
/// it once per number, before anything else is opened.
///
/// # Errors
/// No such descriptor is open.
pub fn adopt_inherited(number: RawFd) -> io::Result<OwnedFd> {
    let socket = sys::take_descriptor(number)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(socket)
}

/// Whether a socket receives packets (UDP), not connections.
pub fn takes_packets(socket: BorrowedFd<'_>) -> bool {
    matches!(SockRef::from(&socket).r#type(), Ok(kind) if kind == Type::DGRAM)
}

/// Opens `count` UDP sockets for QUIC in one SO_REUSEPORT group, at the same port as the bound sockets of an address.
///
/// # Errors
/// The address is not available.
pub fn packets(
    mut address: SocketAddr,
    options: &SocketOptions,
    count: usize,
    claim: AddressClaim,
    beside: &[OwnedFd],
) -> Result<Vec<OwnedFd>, ListenError> {
    if let Some(bound) = beside.first().and_then(|socket| local_address(socket.as_fd()).ok()) {
        address.set_port(bound.port());
    }
    if claim == AddressClaim::Alone {
        drop(packet_socket(address, options, false)?);
    }
    (0..count).map(|_| packet_socket(address, options, true)).collect()
}

fn packet_socket(
    address: SocketAddr,
    options: &SocketOptions,
    share: bool,
) -> Result<OwnedFd, ListenError> {
    let kind = Type::DGRAM.nonblocking().cloexec();
    let socket = Socket::new_raw(Domain::for_address(address), kind, Some(Protocol::UDP))
        .map_err(|source| ListenError::system(address, "open a UDP socket at", source))?;
    let prepare = || -> io::Result<()> {
        socket.set_reuse_port(share)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        // The configured buffer sizes are for connections. A burst of packets must fit until the worker's turn comes.
        for set in [Socket::set_recv_buffer_size, Socket::set_send_buffer_size] {
            set(&socket, PACKETS)?;
        }
        Ok(())
    };
    prepare().map_err(|source| ListenError::system(address, "prepare", source))?;
    socket_option::packets(&socket, address, options)
        .map_err(|refused| ListenError::Setting { address, refused })?;
    socket
        .bind(&address.into())
        .map_err(|source| ListenError::address(address, options, source))?;
    Ok(socket.into())
}

/// Buffer size of a UDP socket in bytes, in each direction; the system's limit may be lower.
/// At 1 Gbit/s, 16 ms during which the worker may be busy with other tasks.
const PACKETS: usize = 2 << 20;

/// The address of a listening TCP socket; `None`: another socket, or one that was shut down.
pub fn listening_address(socket: BorrowedFd<'_>) -> Option<SocketAddr> {
    let listening = rustix::net::sockopt::socket_acceptconn(socket).unwrap_or(false);
    if listening { local_address(socket).ok() } else { None }
}

/// The address of a socket that listens or receives packets; `None`: it does neither.
pub fn bound_address(socket: BorrowedFd<'_>) -> Option<SocketAddr> {
    let packets = || takes_packets(socket).then(|| local_address(socket).ok()).flatten();
    listening_address(socket).or_else(packets)
}

/// Whether a socket has the settings that cannot change while it listens: multipath, interface.
pub fn has_fixed_options(socket: BorrowedFd<'_>, options: &SocketOptions) -> bool {
    let socket = SockRef::from(&socket);
    let packets = matches!(socket.r#type(), Ok(kind) if kind == Type::DGRAM);
    let multipath = matches!(socket.protocol(), Ok(Some(Protocol::MPTCP)));
    let interface = socket.device().ok().flatten();
    (packets || multipath == options.mptcp)
        && interface.as_deref() == options.interface.as_deref().map(str::as_bytes)
}

/// A nonblocking socket for a connection to `to`, with the settings of a pool, bound to `from` if given; not connected
/// yet.
///
/// # Errors
/// The system's error: no descriptor, no such source address, or a rejected setting.
pub fn outgoing(
    to: SocketAddr,
    from: Option<IpAddr>,
    options: &SocketOptions,
) -> io::Result<OwnedFd> {
    let socket = stream(to, options)?;
    socket_option::outgoing(&socket, to, options).map_err(SocketOptionError::into_io)?;
    if let Some(from) = from {
        // connect(2) chooses the port, since it knows the destination: one port can then serve several destinations.
        sys::set_option(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
        socket.bind(&SocketAddr::new(from, 0).into())?;
    }
    Ok(socket.into())
}

/// Checks that a pool's settings and source addresses are available on this host; opens and closes sockets.
///
/// # Errors
/// The rejected setting, with advice.
pub fn check_outgoing(
    source: Option<IpAddr>,
    options: &SocketOptions,
) -> Result<(), OutgoingError> {
    let any: SocketAddr = match source {
        Some(IpAddr::V6(_)) => (std::net::Ipv6Addr::LOCALHOST, 0).into(),
        _ => (std::net::Ipv4Addr::LOCALHOST, 0).into(),
    };
    let socket = stream(any, options)
        .map_err(|source| OutgoingError::Socket { source, mptcp: options.mptcp })?;
    socket_option::outgoing(&socket, any, options).map_err(OutgoingError::Setting)?;
    socket_option::buffers_as_asked(&socket, options).map_err(OutgoingError::Setting)?;
    let Some(address) = source else { return Ok(()) };
    socket
        .bind(&SocketAddr::new(address, 0).into())
        .map_err(|source| OutgoingError::Source { address, source })
}

/// Why a pool's connections cannot be made as configured.
#[derive(Debug, thiserror::Error)]
pub enum OutgoingError {
    /// No socket is available.
    #[error("no socket can be opened: {source}{}", if *.mptcp { listen_error::MPTCP_ADVICE } else { "" })]
    Socket {
        #[source]
        source: io::Error,
        /// Multipath was requested.
        mptcp: bool,
    },
    /// A setting was rejected.
    #[error(transparent)]
    Setting(SocketOptionError),
    /// The host does not have the source address.
    #[error(
        "source address {address} cannot be used: {source}; \
         `ip address` lists the addresses that this machine has"
    )]
    Source {
        address: IpAddr,
        #[source]
        source: io::Error,
    },
}

fn bind_one(
    address: SocketAddr,
    options: &SocketOptions,
    claim: AddressClaim,
) -> Result<OwnedFd, ListenError> {
    bind_claimed(address, options, claim == AddressClaim::Shared)
}

fn bind_claimed(
    address: SocketAddr,
    options: &SocketOptions,
    share: bool,
) -> Result<OwnedFd, ListenError> {
    let socket = stream(address, options)
        .map_err(|source| ListenError::socket(address, options.mptcp, source))?;
    let prepare = || -> io::Result<()> {
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(share)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        Ok(())
    };
    prepare().map_err(|source| ListenError::system(address, "prepare", source))?;
    socket_option::listening(socket.as_fd(), address, options, socket_option::SocketFreshness::Yes)
        .map_err(|refused| ListenError::Setting { address, refused })?;
    socket
        .bind(&address.into())
        .map_err(|source| ListenError::address(address, options, source))?;
    Ok(socket.into())
}

fn stream(near: SocketAddr, options: &SocketOptions) -> io::Result<Socket> {
    let domain = Domain::for_address(near);
    let protocol = if options.mptcp { Protocol::MPTCP } else { Protocol::TCP };
    Socket::new_raw(domain, Type::STREAM.nonblocking().cloexec(), Some(protocol))
}

fn local_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    SockRef::from(&socket)
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}
