//! Relays packets from one endpoint to another, in this worker, another worker, or another process.
//!
//! Each endpoint has a Unix socket whose abstract name contains its tag, so a sender needs only the connection id. Any
//! local process can write to the socket, and a relayed packet states its own source address. So the kernel's
//! credentials of the sender are checked: only processes of the same user or of root are accepted. If the socket is
//! full, the packets are lost, and QUIC retransmits them.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, bind, recvmsg, sendto, socket_with, sockopt,
};
use rustix::process::{Uid, getuid};

use crate::rt::epoll::Epoll;
use crate::rt::worker_socket::WorkerSocket;
use crate::rt::{Readiness, ReadinessSource, RegisteredSource, WorkerRuntime};
use crate::worker::endpoint_tag::EndpointTag;

/// Length of the header before the packets.
const HEAD: usize = 1 + 4 + ADDRESS + 2 + ADDRESS;

/// An address: its family, and the bytes of the longer family.
const ADDRESS: usize = 17;

/// Received packets, concatenated; each is `segment_bytes` long except the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedPackets<'a> {
    pub from: SocketAddr,
    /// The balancer's address that the packets were sent to.
    pub to: Option<IpAddr>,
    pub ecn: u8,
    pub segment_bytes: usize,
    pub packets: &'a [u8],
}

/// The result of forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardResult {
    Forwarded,
    Full,
    /// There is no such endpoint.
    NoReceiver,
}

/// A message for an endpoint.
#[derive(Debug, PartialEq, Eq)]
pub enum RelayedPackets<'a> {
    Packets(ReceivedPackets<'a>),
    /// A malformed message, or one of an untrusted process.
    Refused,
}

pub struct PacketRelay {
    rt: Rc<WorkerRuntime<Epoll>>,
    socket: WorkerSocket,
    source: Rc<ReadinessSource>,
    token: u64,
}

impl PacketRelay {
    /// The relay socket of this endpoint, for the current task.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn new(rt: &Rc<WorkerRuntime<Epoll>>, tag: EndpointTag) -> io::Result<PacketRelay> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        // Before the bind, so that no message can arrive without credentials.
        sockopt::set_socket_passcred(&socket, true)?;
        bind(&socket, &name(tag)?)?;
        let socket = WorkerSocket::Own(socket);
        let RegisteredSource { source, token } = rt.register(&socket, Readiness::READ)?;
        Ok(PacketRelay { rt: rt.clone(), socket, source, token })
    }

    pub fn source(&self) -> &ReadinessSource {
        &self.source
    }

    /// Sends packets to the endpoint with this tag.
    pub fn forward(
        &self,
        to: EndpointTag,
        came: &ReceivedPackets<'_>,
        scratch: &mut Vec<u8>,
    ) -> ForwardResult {
        let Ok(name) = name(to) else { return ForwardResult::NoReceiver };
        scratch.clear();
        write(came, scratch);
        match sendto(&self.socket, scratch, SendFlags::DONTWAIT, &name) {
            Ok(_) => ForwardResult::Forwarded,
            Err(Errno::CONNREFUSED | Errno::NOENT) => ForwardResult::NoReceiver,
            Err(_) => ForwardResult::Full,
        }
    }

    /// Receives relayed packets; `None`: there are none.
    pub fn receive<'b>(&self, into: &'b mut [u8]) -> Option<RelayedPackets<'b>> {
        while self.source.has(Readiness::READ) {
            match receive(&self.socket, into) {
                Ok(RelayMessage { length, user }) => {
                    let came = read(&into[..length]).filter(|_| user.is_some_and(is_trusted_user));
                    return Some(came.map_or(RelayedPackets::Refused, RelayedPackets::Packets));
                }
                Err(_) => self.source.clear(Readiness::READ),
            }
        }
        None
    }
}

/// Whether processes of this user are trusted.
fn is_trusted_user(user: Uid) -> bool {
    user == getuid() || user.is_root()
}

/// A message in the receive buffer.
struct RelayMessage {
    length: usize,
    /// The user of its sender.
    user: Option<Uid>,
}

/// Receives one message.
fn receive(socket: &WorkerSocket, into: &mut [u8]) -> rustix::io::Result<RelayMessage> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(into)];
    let received = recvmsg(socket, &mut parts, &mut control, RecvFlags::DONTWAIT)?;
    let user = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.uid),
        _ => None,
    });
    Ok(RelayMessage { length: received.bytes, user })
}

impl Drop for PacketRelay {
    fn drop(&mut self) {
        self.rt.forget(self.token);
    }
}

fn name(tag: EndpointTag) -> io::Result<SocketAddrUnix> {
    let name = format!("steelyard-quic-{:08x}", u32::from_be_bytes(tag.0));
    Ok(SocketAddrUnix::new_abstract_name(name.as_bytes())?)
}

fn write(came: &ReceivedPackets<'_>, out: &mut Vec<u8>) {
    out.push(came.ecn);
    out.extend_from_slice(&(came.segment_bytes as u32).to_be_bytes());
    address(Some(came.from.ip()), out);
    out.extend_from_slice(&came.from.port().to_be_bytes());
    address(came.to, out);
    out.extend_from_slice(came.packets);
}

fn address(ip: Option<IpAddr>, out: &mut Vec<u8>) {
    let (kind, bytes) = match ip {
        None => (0, [0; 16]),
        Some(IpAddr::V4(ip)) => (4, ip.to_ipv6_mapped().octets()),
        Some(IpAddr::V6(ip)) => (6, ip.octets()),
    };
    out.push(kind);
    out.extend_from_slice(&bytes);
}

fn read(bytes: &[u8]) -> Option<ReceivedPackets<'_>> {
    let (head, packets) = bytes.split_at_checked(HEAD)?;
    let ecn = head[0];
    let stride = u32::from_be_bytes(*head[1..].first_chunk()?) as usize;
    let from = ip(&head[5..])?;
    let port = u16::from_be_bytes(*head[5 + ADDRESS..].first_chunk()?);
    let to = ip(&head[7 + ADDRESS..]);
    let from = SocketAddr::new(from, port);
    (stride > 0).then_some(ReceivedPackets { from, to, ecn, segment_bytes: stride, packets })
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    let ip = Ipv6Addr::from(*bytes.get(1..)?.first_chunk::<16>()?);
    match bytes.first()? {
        4 => Some(IpAddr::V4(ip.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED))),
        6 => Some(IpAddr::V6(ip)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_on_comes_back() {
        for (from, to) in [
            ("192.0.2.1:443", Some("198.51.100.7")),
            ("[2001:db8::1]:9", Some("2001:db8::2")),
            ("127.0.0.1:1", None),
        ] {
            let came = ReceivedPackets {
                from: from.parse().unwrap(),
                to: to.map(|to| to.parse().unwrap()),
                ecn: 2,
                segment_bytes: 1_200,
                packets: b"packets",
            };
            let mut out = Vec::new();
            write(&came, &mut out);
            assert_eq!(read(&out), Some(came));
            for cut in 0..HEAD {
                assert_eq!(read(&out[..cut]), None);
            }
        }
        assert_eq!(read(&[0; HEAD + 9]), None, "no stride and no address");
    }
}
