//! Sockets of stream measurements. Buffer sizes are set before the connection is made, so that the window scale fits
//! them, and read back afterwards. It sends nothing.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with, sockopt,
};

use super::request::StreamReport;
use crate::sys::{retransmitted, segment_size};

/// A listener on a port that the kernel chooses.
pub fn listener(ip: IpAddr, buffer: Option<u32>) -> io::Result<TcpListener> {
    let fd = open(ip, SocketType::STREAM, buffer)?;
    bind(&fd, &SocketAddr::new(ip, 0))?;
    listen(&fd, 4)?;
    Ok(TcpListener::from(fd))
}

pub fn connection(to: SocketAddr, buffer: Option<u32>) -> io::Result<TcpStream> {
    let fd = open(to.ip(), SocketType::STREAM, buffer)?;
    connect(&fd, &to)?;
    Ok(TcpStream::from(fd))
}

/// A UDP socket on a port that the kernel chooses.
pub fn datagrams(ip: IpAddr, buffer: Option<u32>) -> io::Result<UdpSocket> {
    let fd = open(ip, SocketType::DGRAM, buffer)?;
    bind(&fd, &SocketAddr::new(ip, 0))?;
    Ok(UdpSocket::from(fd))
}

/// Reads the socket's buffer sizes and TCP figures.
pub fn read_socket_state(socket: impl AsFd, seen: &mut StreamReport) {
    let socket = socket.as_fd();
    seen.send_buffer = sockopt::socket_send_buffer_size(socket).unwrap_or(0) as u64;
    seen.receive_buffer = sockopt::socket_recv_buffer_size(socket).unwrap_or(0) as u64;
    seen.segment = segment_size(socket);
    seen.retransmitted = retransmitted(socket);
}

fn open(ip: IpAddr, kind: SocketType, buffer: Option<u32>) -> io::Result<OwnedFd> {
    let family = if ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    if let Some(bytes) = buffer {
        sockopt::set_socket_send_buffer_size(&fd, bytes as usize)?;
        sockopt::set_socket_recv_buffer_size(&fd, bytes as usize)?;
    }
    Ok(fd)
}
