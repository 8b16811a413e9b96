//! The sockets of probes: opened, connected, written to and read from, never waited for.
//!
//! It knows no protocol. What an error of the system says about a server is decided here, in one place.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use ::probe::probe_plan::ProbeTransport;
use files::plain_error::plain_error_text;
use l7::socket;
use model::config::{ServerEndpoint, SocketOptions};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, socket_with, sockopt,
};

use super::target::{ProbeOutcome, ProbeTarget};

/// The result of a call that does not block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketProgress {
    /// This many bytes were moved.
    Moved(usize),
    /// The peer has ended.
    Eof,
    WouldBlock,
}

/// Opens a socket and begins to connect it.
pub(super) fn open_socket(
    target: &ProbeTarget,
    carrier: ProbeTransport,
) -> Result<OwnedFd, ProbeOutcome> {
    let ServerEndpoint::Socket(address) = target.address else {
        return open_unix(target);
    };
    let socket = match carrier {
        ProbeTransport::Stream => stream(target, address),
        ProbeTransport::Datagram => datagram(target, address),
        ProbeTransport::Ping => ping(target, address),
        // A program needs no socket of this process.
        ProbeTransport::Program => Err(io::ErrorKind::Unsupported.into()),
    };
    let socket = socket.map_err(|error| classify_connect_error(&error))?;
    socket::begin_connect(&socket, &target.address)
        .map_err(|error| classify_connect_error(&error))?;
    Ok(socket)
}

/// Connects to a server on a Unix socket. All errors of the connect concern the server: a check that may not use the
/// socket shows that clients' requests may not use it either.
fn open_unix(target: &ProbeTarget) -> Result<OwnedFd, ProbeOutcome> {
    let socket =
        socket::outgoing_unix(&target.socket).map_err(|error| classify_connect_error(&error))?;
    match socket::begin_connect(&socket, &target.address) {
        Ok(()) => Ok(socket),
        Err(error) => Err(ProbeOutcome::Failed(format!(
            "cannot connect: {}",
            socket::describe_connect_error(&target.address, &error)
        ))),
    }
}

/// Whether a stream is connected.
pub(super) fn is_connected(socket: &OwnedFd) -> io::Result<bool> {
    match rustix::net::getpeername(socket) {
        Ok(_) => Ok(true),
        Err(Errno::NOTCONN) => {
            sockopt::socket_error(socket)??;
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// Sends as much as possible.
pub(super) fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<SocketProgress> {
    match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        Ok(moved) => Ok(SocketProgress::Moved(moved)),
        // NOTCONN: still on its way.
        Err(Errno::AGAIN | Errno::INTR | Errno::NOTCONN) => Ok(SocketProgress::WouldBlock),
        Err(error) => Err(error.into()),
    }
}

/// Reads as much as is available.
pub(super) fn receive(socket: &OwnedFd, into: &mut [u8]) -> io::Result<SocketProgress> {
    match rustix::net::recv(socket, into, RecvFlags::DONTWAIT) {
        Ok((0, _)) => Ok(SocketProgress::Eof),
        Ok((moved, _)) => Ok(SocketProgress::Moved(moved)),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOTCONN) => Ok(SocketProgress::WouldBlock),
        Err(error) => Err(error.into()),
    }
}

/// A reset instead of an orderly close leaves no TIME_WAIT behind, on either side.
pub(super) fn reset_on_close(socket: &OwnedFd) {
    // A failure leaves an ordinary close, which is safe.
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}

/// Separates connect errors that concern the server from those that concern this host.
pub(super) fn classify_connect_error(error: &io::Error) -> ProbeOutcome {
    let ours = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOBUFS,
        Errno::NOMEM,
        Errno::ADDRNOTAVAIL,
        Errno::PERM,
        Errno::ACCESS,
    ];
    if ours.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error())) {
        return ProbeOutcome::NotMade(plain_error_text(format!("cannot probe: {error}")));
    }
    ProbeOutcome::Failed(match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset => "connection reset".to_owned(),
        _ => plain_error_text(format!("cannot connect: {error}")),
    })
}

fn stream(target: &ProbeTarget, address: SocketAddr) -> io::Result<OwnedFd> {
    let options = &*target.socket;
    let plain = SocketOptions {
        path: options.path,
        keep_alive: options.keep_alive,
        ..SocketOptions::default()
    };
    if target.source.is_none() && *options == plain {
        // The pool's socket options (no delay, keep-alive) have no effect on such a short connection.
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        return Ok(socket_with(family(address), SocketType::STREAM, flags, None)?);
    }
    match socket::outgoing(address, target.source, options) {
        Err(error) if is_foreign_source(&error) => socket::outgoing(address, None, options),
        had => had,
    }
}

fn datagram(target: &ProbeTarget, address: SocketAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family(address), SocketType::DGRAM, flags, None)?;
    bind_source(&socket, target)?;
    Ok(socket)
}

/// The kernel's own ping socket where this user may have one (`net.ipv4.ping_group_range`), else a raw one.
fn ping(target: &ProbeTarget, address: SocketAddr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (family, protocol) = match address.ip() {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    let socket = socket_with(family, SocketType::DGRAM, flags, Some(protocol))
        .or_else(|_| socket_with(family, SocketType::RAW, flags, Some(protocol)))?;
    bind_source(&socket, target)?;
    Ok(socket)
}

fn bind_source(socket: &OwnedFd, target: &ProbeTarget) -> io::Result<()> {
    let options = &*target.socket;
    let socket = socket2::SockRef::from(socket);
    if let Some(interface) = &options.interface {
        socket.bind_device(Some(interface.as_bytes()))?;
    }
    if let Some(mark) = options.mark {
        socket.set_mark(mark)?;
    }
    if let Some(source) = target.source {
        match socket.bind(&SocketAddr::new(source, 0).into()) {
            Err(error) if is_foreign_source(&error) => {}
            bound => bound?,
        }
    }
    Ok(())
}

/// Whether a source address is missing here, as when another member of the pair holds it. The server is probed anyway,
/// from the address that the kernel chooses.
fn is_foreign_source(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::ADDRNOTAVAIL.raw_os_error())
}

fn family(address: SocketAddr) -> AddressFamily {
    match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    }
}
