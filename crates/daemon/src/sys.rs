//! Binding a packet socket, whose address no safe wrapper offers, and waiting for one: the one file here with unsafe
//! code. No policy.
#![allow(unsafe_code, reason = "addresses of links and readiness have no safe wrapper")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::Socket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// From now on the socket has the frames of this link, and sends there.
pub fn bind(socket: BorrowedFd<'_>, ifindex: u32) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: ifindex.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `address`, which lives until the call returns; the kernel reads it.
    let result = unsafe {
        let address = std::ptr::from_ref(&address).cast();
        libc::bind(socket.as_raw_fd(), address, length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The socket, with its readiness to be read awaited by the runtime of the caller.
pub fn readable(socket: Socket) -> io::Result<AsyncFd<Socket>> {
    // SAFETY: the socket owns its descriptor, which stays open and the same until the socket is dropped; it is moved
    // into what is made, and never replaced there.
    let made = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
    made.map_err(io::Error::from)
}
