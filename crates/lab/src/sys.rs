//! Socket options that no safe wrapper offers: a port that is chosen when the connection is made, not before.
//!
//! It does nothing else with sockets.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Lets the kernel choose the port of a bound address when the connection is made, so that a port is taken for one
/// destination only (IP_BIND_ADDRESS_NO_PORT, ip(7)); it holds for IPv6 too.
pub fn choose_port_late(socket: impl AsFd) -> io::Result<()> {
    let value: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which lives until the call returns; the kernel reads it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            std::ptr::from_ref(&value).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
