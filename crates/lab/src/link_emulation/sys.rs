//! Opens packet sockets; the option and the address that they need have no safe wrapper.
//!
//! It does nothing else with sockets.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::netdevice::name_to_index;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Receive buffer of a packet socket, bytes. The kernel's default (net.core.rmem_default) holds less than a fast link
/// carries while a busy machine delays the forwarder.
const ROOM: usize = 32 << 20;

/// Opens a socket for all frames that a link of the current namespace receives, and for sending frames there. Each
/// frame starts with the header that `segmentation` describes.
pub fn open_packet_socket(link: &str) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // With no protocol, the socket receives nothing before it is bound, so no frames of other links.
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    // Without the privilege, the default size remains.
    let _ = set_socket_recv_buffer_size_force(&socket, ROOM);
    let on: libc::c_int = 1;
    // SAFETY: the pointer and the length describe `on`, which lives until the call returns; the kernel reads it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_VNET_HDR,
            std::ptr::from_ref(&on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let index = name_to_index(&socket, link)?;
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index.cast_signed(),
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
    if result == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}
