//! The socket of one path: beats go out by it, and what comes is handed on with its time. It reads nothing of it.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket as Plain};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use ha::heartbeat::LARGEST;
use model::config::HeartbeatPathConfig;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::message::{HeartbeatMessage, PathPacket};
use crate::util::monotonic_clock::monotonic_now;

/// Internetwork control (RFC 2474 §4.2.2.2), as routing protocols have it.
const CONTROL: u32 = 0xc0;

#[derive(Debug)]
pub struct PathSocket {
    socket: Arc<UdpSocket>,
    reader: JoinHandle<()>,
}

impl Drop for PathSocket {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl PathSocket {
    /// Opens the socket. It receives only from the peer's address and port. `scope`: the interface's number, for
    /// link-local addresses.
    ///
    /// # Errors
    /// The address does not exist (yet), the port is in use, or the interface is missing.
    pub fn open(
        path: &HeartbeatPathConfig,
        port: u16,
        scope: u32,
        era: u64,
        at: usize,
        to: mpsc::Sender<HeartbeatMessage>,
    ) -> io::Result<PathSocket> {
        let v6 = path.local.is_ipv6();
        let domain = if v6 { Domain::IPV6 } else { Domain::IPV4 };
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        if v6 {
            socket.set_tclass_v6(CONTROL)?;
        } else {
            socket.set_tos_v4(CONTROL)?;
        }
        if let Some(interface) = &path.interface {
            socket.bind_device(Some(interface.as_bytes()))?;
        }
        socket.bind(&socket_address(path.local, port, scope).into())?;
        socket.connect(&socket_address(path.peer, port, scope).into())?;
        let socket = Arc::new(UdpSocket::from_std(Plain::from(OwnedFd::from(socket)))?);
        let reader = tokio::spawn(read_packets(Arc::clone(&socket), era, at, to));
        Ok(PathSocket { socket, reader })
    }

    /// Sends a beat.
    ///
    /// # Errors
    /// There is no way, the link is down, or its queue is full.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        match self.socket.try_send(bytes) {
            // The peer was not listening when the previous packet arrived. This one was sent anyway, or the next one
            // will be.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.socket.try_send(bytes).map(drop)
            }
            sent => sent.map(drop),
        }
    }

    /// Whether the socket still receives.
    pub fn is_alive(&self) -> bool {
        !self.reader.is_finished()
    }
}

fn socket_address(ip: IpAddr, port: u16, scope: u32) -> SocketAddr {
    match ip {
        IpAddr::V4(_) => SocketAddr::new(ip, port),
        IpAddr::V6(v6) => {
            let scope = if v6.is_unicast_link_local() { scope } else { 0 };
            SocketAddrV6::new(v6, port, 0, scope).into()
        }
    }
}

async fn read_packets(
    socket: Arc<UdpSocket>,
    era: u64,
    path: usize,
    to: mpsc::Sender<HeartbeatMessage>,
) {
    let mut buffer = vec![0; LARGEST + 1];
    loop {
        let bytes = match socket.recv(&mut buffer).await {
            Ok(bytes) => bytes,
            // Errors of sent packets arrive here too: only silence counts, not its reason.
            Err(error) if error.raw_os_error() != Some(libc::ENODEV) => {
                tokio::task::yield_now().await;
                continue;
            }
            Err(_) => return,
        };
        let packet = PathPacket { path, bytes: buffer[..bytes].to_vec(), at: monotonic_now() };
        if to.send(HeartbeatMessage::Packet(era, packet)).await.is_err() {
            return;
        }
    }
}
