//! Connections to servers on Unix sockets: opening, connecting, and what an error means for the operator.

use std::io;
use std::os::fd::OwnedFd;

use model::config::{ServerEndpoint, SocketOptions, UnixSocketPath};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};

/// A nonblocking Unix socket that is not connected yet. Of the settings of a pool only the buffers apply.
///
/// # Errors
/// The system's error: no descriptor, or a rejected buffer size.
pub fn outgoing_unix(options: &SocketOptions) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    if let Some(bytes) = options.send_buffer {
        sockopt::set_socket_send_buffer_size(&socket, size(bytes))?;
    }
    if let Some(bytes) = options.receive_buffer {
        sockopt::set_socket_recv_buffer_size(&socket, size(bytes))?;
    }
    Ok(socket)
}

/// Begins to connect a socket, of TCP or Unix. A Unix socket is connected at once.
///
/// # Errors
/// The system's error. `WouldBlock`: the queue of a listening Unix socket is full.
pub fn begin_connect(socket: &OwnedFd, to: &ServerEndpoint) -> io::Result<()> {
    let begun = match to {
        ServerEndpoint::Socket(address) => connect(socket, address),
        ServerEndpoint::Unix(path) => connect(socket, &unix_address(path)?),
    };
    match begun {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// An error of a connect, and for a Unix socket what to do about it.
pub fn describe_connect_error(to: &ServerEndpoint, error: &io::Error) -> String {
    let ServerEndpoint::Unix(path) = to else { return error.to_string() };
    let user = rustix::process::geteuid().as_raw();
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => format!("{error}; the server has not created the socket"),
        Some(Errno::CONNREFUSED) if path.file().is_some() => {
            format!("{error}; the file is there, and no program listens on it")
        }
        Some(Errno::AGAIN) => "the queue of the socket is full".to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => format!(
            "{error}; the user of this process (uid {user}) needs write permission for the socket, \
             and search permission for each directory above it"
        ),
        _ => error.to_string(),
    }
}

fn unix_address(path: &UnixSocketPath) -> Result<SocketAddrUnix, Errno> {
    match (path.abstract_name(), path.file()) {
        (Some(name), _) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
        (None, Some(file)) => SocketAddrUnix::new(file),
        (None, None) => Err(Errno::INVAL),
    }
}
