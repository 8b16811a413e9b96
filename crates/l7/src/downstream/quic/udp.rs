//! A UDP socket: non-blocking reads and writes, many packets in one call where the kernel supports it.
//!
//! This module is independent of QUIC's protocol.

use std::io::{self, IoSliceMut};
use std::rc::Rc;

use quinn_proto::{EcnCodepoint, Transmit};
use quinn_udp::{RecvMeta, UdpSockRef, UdpSocketState};

use crate::rt::epoll::Epoll;
use crate::rt::net_driver::NetDriver;
use crate::rt::worker_socket::WorkerSocket;
use crate::rt::{Readiness, ReadinessSource, RegisteredSource, WorkerRuntime};

/// Most failed reads in a row.
/// Errors of single packets, such as those of ICMP, are reported by one read each.
const TRIES: usize = 8;

pub struct QuicSocket {
    rt: Rc<WorkerRuntime<Epoll>>,
    socket: WorkerSocket,
    state: UdpSocketState,
    source: Rc<ReadinessSource>,
    token: u64,
}

/// The result of sending packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpSendResult {
    /// The kernel has accepted the packets.
    Done,
    /// The socket is full: try again when it is writable.
    WouldBlock,
    /// The kernel rejected the packets.
    Lost,
}

impl QuicSocket {
    /// Takes ownership of a socket for the current task.
    ///
    /// # Errors
    /// The kernel's error for a socket option or the registration.
    pub fn new(rt: &Rc<WorkerRuntime<Epoll>>, socket: WorkerSocket) -> io::Result<QuicSocket> {
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let RegisteredSource { source, token } =
            rt.register(&socket, Readiness::READ | Readiness::WRITE)?;
        Ok(QuicSocket { rt: rt.clone(), socket, state, source, token })
    }

    pub fn source(&self) -> &ReadinessSource {
        &self.source
    }

    /// Whether packets are never fragmented, so that path MTU discovery works.
    pub fn never_fragments(&self) -> bool {
        !self.state.may_fragment()
    }

    /// Most packets that one call can send.
    pub fn max_batch(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Reads the available packets; `None`: there are none.
    pub fn receive(&self, into: &mut [u8]) -> Option<RecvMeta> {
        let mut meta = [RecvMeta::default()];
        for _ in 0..TRIES {
            if !self.source.has(Readiness::READ) {
                return None;
            }
            let socket = UdpSockRef::from(&self.socket);
            match self.state.recv(socket, &mut [IoSliceMut::new(into)], &mut meta) {
                Ok(0) => return None,
                Ok(_) => return Some(meta[0]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.source.clear(Readiness::READ);
                }
                // An ICMP error is reported once and concerns no other packet.
                Err(_) => {}
            }
        }
        // For any other error: the next packet causes a new edge-triggered event.
        self.source.clear(Readiness::READ);
        None
    }

    pub fn send(&self, transmit: &Transmit, contents: &[u8]) -> UdpSendResult {
        let out = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents,
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        match self.state.try_send(UdpSockRef::from(&self.socket), &out) {
            Ok(()) => UdpSendResult::Done,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::WRITE);
                UdpSendResult::WouldBlock
            }
            // Path MTU probes may exceed the path's MTU.
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => UdpSendResult::Done,
            Err(_) => UdpSendResult::Lost,
        }
    }
}

impl Drop for QuicSocket {
    fn drop(&mut self) {
        self.rt.net.deregister(&self.socket);
        self.rt.forget(self.token);
    }
}

/// The ECN bits in the type of `quinn-proto`.
pub fn ecn(meta: &RecvMeta) -> Option<EcnCodepoint> {
    meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8))
}
