//! Packet sockets that carry what the kernel knows of a packet beside its bytes: the one file here with unsafe code. No
//! policy.
#![allow(unsafe_code, reason = "options of packet sockets have no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::util::packet_socket;

/// Options of packet(7), as `linux/if_packet.h` numbers them.
const SOL_PACKET: i32 = 263;
const PACKET_STATISTICS: i32 = 6;
const PACKET_VNET_HDR: i32 = 15;
const PACKET_IGNORE_OUTGOING: i32 = 23;

/// A socket for frames that arrive at an interface, each behind its header of virtio, and for sending such ones there.
/// `room`: bytes that may wait in the kernel.
pub fn open(ifindex: u32, room: i32) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // Without a protocol the socket receives nothing before it is bound, when its options are set.
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    set(&socket, SOL_PACKET, PACKET_VNET_HDR, 1)?;
    set(&socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, room)?;
    packet_socket::bind_to_link(socket.as_fd(), ifindex)?;
    Ok(socket)
}

/// Frames dropped since the last call.
pub fn take_drop_count(socket: &OwnedFd) -> u64 {
    // `struct tpacket_stats`: frames, and how many of them were dropped.
    let mut counts = [0_u32; 2];
    let mut length = size_of_val(&counts) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `counts`, which the kernel fills at most.
    let result = unsafe {
        let to = std::ptr::from_mut(&mut counts).cast();
        libc::getsockopt(socket.as_raw_fd(), SOL_PACKET, PACKET_STATISTICS, to, &mut length)
    };
    if result == 0 { u64::from(counts[1]) } else { 0 }
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which lives until the call returns; the kernel reads it.
    let result = unsafe {
        let value = std::ptr::from_ref(&value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, option, value, length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
