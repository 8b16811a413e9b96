//! Socket options without a safe wrapper: late port selection, and a connection's segment size, unacknowledged and
//! retransmitted segments.
//!
//! It does nothing else with sockets.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Lets the kernel choose the source port when the connection is made, so that the port is in use for one destination
/// only (IP_BIND_ADDRESS_NO_PORT, ip(7)). It applies to IPv6 too.
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

/// The largest segment that a TCP connection sends, bytes; `None`: not a TCP connection (TCP_MAXSEG, tcp(7)).
pub fn segment_size(socket: impl AsFd) -> Option<u32> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointers describe `value` and `length`, which live until the call returns; the kernel writes at most
    // `length` bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_MAXSEG,
            std::ptr::from_mut(&mut value).cast(),
            &raw mut length,
        )
    };
    if result == 0 { u32::try_from(value).ok() } else { None }
}

/// Sent but unacknowledged segments of a TCP connection; `None`: not a TCP connection (TCP_INFO, tcp(7)).
pub fn unacknowledged(socket: impl AsFd) -> Option<u32> {
    number(socket, UNACKED)
}

/// All retransmitted segments of a TCP connection; `None`: not a TCP connection (TCP_INFO, tcp(7)).
pub fn retransmitted(socket: impl AsFd) -> Option<u32> {
    number(socket, TOTAL_RETRANS)
}

/// Offset of the unacknowledged segments in Linux's tcp_info: the fifth of the 4-byte numbers after eight bytes of
/// state and options.
const UNACKED: usize = 8 + 4 * 4;
/// Offset of the retransmitted segments, the 24th of these numbers.
const TOTAL_RETRANS: usize = 8 + 4 * 23;

/// Reads a number of a TCP connection's tcp_info.
fn number(socket: impl AsFd, at: usize) -> Option<u32> {
    let mut info = [0_u8; TOTAL_RETRANS + 4];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the pointers describe `info` and `length`, which live until the call returns; the kernel writes at most
    // `length` bytes of what it has.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let reported = info.get(..length as usize).filter(|_| result == 0)?;
    reported.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_ne_bytes(*bytes))
}
