//! Opens the sockets of load connections without waiting.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

use super::fail::FailureCause;
use super::plan::{LoadPlan, ReadSpeed};
use crate::sys::choose_port_late;

/// The socket of a connection that was started without waiting.
#[derive(Debug)]
pub struct StartedConnect {
    pub fd: OwnedFd,
    /// Whether the connection is already established.
    pub established: bool,
}

/// Starts the `number`-th connection of a thread.
pub fn start_connect(plan: &LoadPlan, number: usize) -> Result<StartedConnect, Errno> {
    let target = plan.target;
    let family = if target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let kind = if plan.datagrams { SocketType::DGRAM } else { SocketType::STREAM };
    let fd = socket_with(family, kind, flags, None)?;
    if !plan.datagrams {
        sockopt::set_tcp_nodelay(&fd, true)?;
    }
    if matches!(plan.reading, ReadSpeed::Slow { .. }) {
        sockopt::set_socket_recv_buffer_size(&fd, 1)?;
    }
    if !plan.sources.is_empty() {
        let source = plan.sources[number % plan.sources.len()];
        // Ignored: without the option a port is in use for all destinations at once, and the connection still works.
        let _ = choose_port_late(&fd);
        bind(&fd, &SocketAddr::new(source, 0))?;
    }
    match connect(&fd, &target) {
        Ok(()) => Ok(StartedConnect { fd, established: true }),
        Err(Errno::INPROGRESS) => Ok(StartedConnect { fd, established: false }),
        Err(error) => Err(error),
    }
}

/// Maps an error of establishing a connection to its cause.
pub fn classify_connect_error(error: Errno) -> FailureCause {
    match error {
        Errno::CONNREFUSED => FailureCause::Refused,
        Errno::TIMEDOUT => FailureCause::ConnectTimeout,
        Errno::MFILE
        | Errno::NFILE
        | Errno::NOBUFS
        | Errno::NOMEM
        | Errno::ADDRNOTAVAIL
        | Errno::ADDRINUSE => FailureCause::NoResource,
        _ => FailureCause::Unreachable,
    }
}
