//! Packet sockets: binding them, waiting for one, reading one with the time of each packet. No safe wrapper offers that:
//! the one file here with unsafe code about sockets. No policy.
#![allow(
    unsafe_code,
    reason = "addresses of links, readiness and times of packets have no safe wrapper"
)]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::Socket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// From now on the socket has the frames of this link, or with 0 of all, and sends there.
pub fn bind_to_link(socket: BorrowedFd<'_>, ifindex: u32) -> io::Result<()> {
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

/// The socket, registered with the caller's runtime.
pub fn async_socket(socket: Socket) -> io::Result<AsyncFd<Socket>> {
    // SAFETY: the socket owns its descriptor, which stays open and the same until the socket is dropped; it is moved
    // into what is made, and never replaced there.
    let made = unsafe { AsyncFd::register_with_interest(socket, Interest::READABLE) };
    made.map_err(io::Error::from)
}

/// Each packet is to come with its time.
pub fn enable_timestamps(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `on`, which lives until the call returns; the kernel reads it.
    let result = unsafe {
        let on = std::ptr::from_ref(&on).cast();
        let level = libc::SOL_SOCKET;
        libc::setsockopt(socket.as_raw_fd(), level, libc::SO_TIMESTAMPNS, on, length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A packet that was read into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReading {
    /// Bytes in the buffer.
    pub length: usize,
    /// When it passed, nanoseconds since 1970; `None`: the kernel did not supply it.
    pub at_ns: Option<u64>,
}

/// Reads a packet, truncated to the buffer.
pub fn receive_packet(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<PacketReading> {
    /// As control messages must lie.
    #[repr(align(8))]
    struct AlignedBuffer([u8; 64]);
    let mut beside = AlignedBuffer([0; 64]);
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: all of `message` may be zero; it points to `part`, which describes `into`, and to `beside`, each with its own
    // length, and all of them live until the call returns.
    let (read, used) = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = beside.0.as_mut_ptr().cast();
        message.msg_controllen = beside.0.len();
        let read = libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT);
        (read, message.msg_controllen)
    };
    let Ok(length) = usize::try_from(read) else { return Err(io::Error::last_os_error()) };
    Ok(PacketReading { length, at_ns: time(beside.0.get(..used).unwrap_or_default()) })
}

/// The time in control messages (cmsg(3), socket(7)): a length, a level and a kind, then seconds and nanoseconds.
fn time(beside: &[u8]) -> Option<u64> {
    let long = |at: usize| Some(u64::from_ne_bytes(beside.get(at..at + 8)?.try_into().ok()?));
    let word = |at: usize| Some(i32::from_ne_bytes(beside.get(at..at + 4)?.try_into().ok()?));
    let whole = long(0)? >= 32;
    let stamp = (word(8)?, word(12)?) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS);
    if !whole || !stamp {
        return None;
    }
    long(16)?.checked_mul(1_000_000_000)?.checked_add(long(24)?)
}

/// Packets dropped by the full queue since the last call.
pub fn take_drop_count(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // How many passed, how many of them were dropped (packet(7), PACKET_STATISTICS).
    let mut counts = [0u32; 2];
    let mut length = size_of::<[u32; 2]>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `counts`, which lives until the call returns; the kernel writes at most
    // that much.
    let result = unsafe {
        let counts = std::ptr::from_mut(&mut counts).cast();
        let level = libc::SOL_PACKET;
        let name = libc::PACKET_STATISTICS;
        libc::getsockopt(socket.as_raw_fd(), level, name, counts, &raw mut length)
    };
    if result == 0 { Ok(counts[1]) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_packet_comes_with_its_time() {
        let (near, far) = std::os::unix::net::UnixDatagram::pair().unwrap();
        enable_timestamps(near.as_fd()).unwrap();
        let mut room = [0; 8];
        assert_eq!(
            receive_packet(near.as_fd(), &mut room).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        enable_timestamps(udp.as_fd()).unwrap();
        udp.send_to(b"hello you", udp.local_addr().unwrap()).unwrap();
        let packet = receive_packet(udp.as_fd(), &mut room).unwrap();
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
        assert_eq!((packet.length, &room), (8, b"hello yo"));
        assert!(now - packet.at_ns.unwrap() < 60_000_000_000);
        drop(far);
        assert_eq!(time(&[0; 16]), None);
    }
}
