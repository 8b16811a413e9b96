//! The number of the network namespace that this process is in: the one file here with unsafe code. No policy.
#![allow(unsafe_code, reason = "this option of sockets has no safe wrapper")]

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// SO_NETNS_COOKIE of the kernel's uapi header asm-generic/socket.h.
const NETNS_COOKIE: i32 = 71;

pub fn network_namespace() -> io::Result<u64> {
    let socket = UdpSocket::bind("127.0.0.1:0").or_else(|_| UdpSocket::bind("[::1]:0"))?;
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `cookie`, which the kernel fills at most.
    let result = unsafe {
        let to = std::ptr::from_mut(&mut cookie).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, NETNS_COOKIE, to, &mut length)
    };
    if result == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}
