//! One worker's QUIC endpoint at one address: reads packets, passes each one to its connection, and admits new
//! connections.
//!
//! The endpoint sends stateless packets (Retry, refusals); connections send their own packets.

mod admit;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use bytes::BytesMut;
use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;
use quinn_proto::{ConnectionEvent, ConnectionHandle, DatagramEvent, EcnCodepoint, EndpointEvent};
use quinn_proto::{ServerConfig, Transmit};

use super::connection::QuicConnection;
use super::connection_id;
use super::packet_relay::{ForwardResult, PacketRelay, ReceivedPackets, RelayedPackets};
use super::server_config::{self, EndpointKeys};
use super::udp::{self, QuicSocket, UdpSendResult};
use crate::conn::client_peer::ClientPeer;
use crate::downstream::accept::ListenerMode;
use crate::rt::Readiness;
use crate::rt::epoll::Epoll;
use crate::rt::worker_socket::WorkerSocket;
use crate::servers::worker_state::LocalService;
use crate::worker::Worker;
use crate::worker::admission::OpenConnection;
use crate::worker::endpoint_tag::EndpointTag;

/// Most reads in one turn, so that other tasks get a turn.
const BATCH: usize = 32;

/// Most bytes that the kernel returns in one read.
/// The longest run of packets that UDP GRO merges.
const READ: usize = 64 * 1024;

/// Space for the header of relayed packets, in bytes.
const FORWARD_HEADER_BYTES: usize = 64;

pub struct QuicEndpoint {
    pub worker: Rc<Worker<Epoll>>,
    pub service: Rc<LocalService<Epoll>>,
    tag: EndpointTag,
    local: SocketAddr,
    udp: QuicSocket,
    relay: Option<PacketRelay>,
    machine: RefCell<quinn_proto::Endpoint>,
    connections: RefCell<HashMap<ConnectionHandle, Rc<QuicConnection>>>,
    /// The drivers of connections that wait until the socket is writable.
    send_waiters: RefCell<Vec<Waker>>,
    server_config: RefCell<Option<BuiltServerConfig>>,
    keys: EndpointKeys,
    clock_origin: QuicClockOrigin,
    /// No new connections are admitted.
    closing: Cell<bool>,
    scratch: RefCell<Vec<u8>>,
    started: fn(Rc<QuicEndpoint>, AdmittedQuicConnection),
}

/// The library's configuration, and the service's view that it was built from.
struct BuiltServerConfig {
    view: Arc<ServiceView>,
    config: Arc<ServerConfig>,
}

/// One time on the clock of `quinn-proto` and on the worker's clock.
struct QuicClockOrigin {
    instant: Instant,
    moment: MonotonicTime,
}

/// A connection that was admitted.
pub struct AdmittedQuicConnection {
    pub connection: Rc<QuicConnection>,
    /// The addresses of the connection.
    pub client_peer: ClientPeer,
    pub open: OpenConnection,
}

/// Runs an endpoint until `wanted` changes and its connections have ended; `started` serves new connections.
pub async fn listen(
    worker: Rc<Worker<Epoll>>,
    socket: WorkerSocket,
    local: SocketAddr,
    service: Rc<LocalService<Epoll>>,
    wanted: Rc<Cell<ListenerMode>>,
    started: fn(Rc<QuicEndpoint>, AdmittedQuicConnection),
) {
    let Ok(endpoint) = QuicEndpoint::new(worker.clone(), socket, local, service, started) else {
        let seen =
            crate::accounting::observer::PlaneObservation::NoDescriptor { worker: worker.index };
        return worker.observer.observe(seen);
    };
    let endpoint = Rc::new(endpoint);
    worker.endpoints.borrow_mut().insert(local, endpoint.tag);
    let mut buffer = vec![0; READ + FORWARD_HEADER_BYTES];
    loop {
        let reads = wanted.get() != ListenerMode::Drop;
        if wanted.get() != ListenerMode::Accept && !endpoint.closing.replace(true) {
            endpoint.connections.borrow().values().for_each(|link| link.wake_driver());
        }
        if endpoint.closing.get() && endpoint.connections.borrow().is_empty() {
            break;
        }
        endpoint.wake_waiting();
        if endpoint.receive_batch(&mut buffer, reads) {
            worker.rt.yield_now().await;
            continue;
        }
        std::future::poll_fn(|_| {
            let news = endpoint.closing.get() != (wanted.get() != ListenerMode::Accept);
            let over = endpoint.closing.get() && endpoint.connections.borrow().is_empty();
            match news || over || endpoint.is_ready(reads) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
    let mut endpoints = worker.endpoints.borrow_mut();
    if endpoints.get(&local) == Some(&endpoint.tag) {
        endpoints.remove(&local);
    }
}

impl QuicEndpoint {
    fn new(
        worker: Rc<Worker<Epoll>>,
        socket: WorkerSocket,
        local: SocketAddr,
        service: Rc<LocalService<Epoll>>,
        started: fn(Rc<QuicEndpoint>, AdmittedQuicConnection),
    ) -> std::io::Result<QuicEndpoint> {
        let tag = EndpointTag::draw();
        let keys = EndpointKeys::draw();
        let udp = QuicSocket::new(&worker.rt, socket)?;
        let config = Arc::new(server_config::endpoint(&keys, tag));
        let machine = quinn_proto::Endpoint::new(config, None, udp.never_fragments(), None);
        Ok(QuicEndpoint {
            tag,
            local,
            // Without a relay, only packets of clients that have moved to another worker are lost.
            relay: PacketRelay::new(&worker.rt, tag).ok(),
            udp,
            machine: RefCell::new(machine),
            connections: RefCell::default(),
            send_waiters: RefCell::default(),
            server_config: RefCell::default(),
            keys,
            clock_origin: QuicClockOrigin { instant: Instant::now(), moment: worker.rt.now() },
            closing: Cell::new(false),
            scratch: RefCell::default(),
            started,
            worker,
            service,
        })
    }

    /// Converts a time to the clock of `quinn-proto`.
    pub fn instant(&self, at: MonotonicTime) -> Instant {
        self.clock_origin.instant + at.since(self.clock_origin.moment)
    }

    /// Converts a time from the clock of `quinn-proto`.
    pub fn moment(&self, at: Instant) -> MonotonicTime {
        self.clock_origin.moment + at.saturating_duration_since(self.clock_origin.instant)
    }

    /// Whether the endpoint's connections should shut down gracefully.
    pub fn is_closing(&self) -> bool {
        self.closing.get()
    }

    /// Most packets that one call can send.
    pub fn max_batch(&self) -> usize {
        self.udp.max_batch()
    }

    /// Sends packets; if the socket is not writable, `waker` is woken when it is.
    pub fn send(&self, transmit: &Transmit, contents: &[u8], waker: &Waker) -> UdpSendResult {
        if !self.udp.source().has(Readiness::WRITE) {
            self.send_waiters.borrow_mut().push(waker.clone());
            return UdpSendResult::WouldBlock;
        }
        let sent = self.udp.send(transmit, contents);
        match sent {
            UdpSendResult::WouldBlock => self.send_waiters.borrow_mut().push(waker.clone()),
            UdpSendResult::Lost => self.count_event(|counters| &counters.quic_lost),
            UdpSendResult::Done => {}
        }
        sent
    }

    /// Passes a connection's event to the library's endpoint; the result is an event for the connection.
    pub fn handle_endpoint_event(
        &self,
        handle: ConnectionHandle,
        event: EndpointEvent,
    ) -> Option<ConnectionEvent> {
        self.machine.borrow_mut().handle_event(handle, event)
    }

    /// Removes an ended connection; `drained`: the library's endpoint already knows.
    pub fn forget(&self, handle: ConnectionHandle, drained: bool) {
        if !drained {
            self.handle_endpoint_event(handle, EndpointEvent::drained());
        }
        self.connections.borrow_mut().remove(&handle);
    }

    fn wake_waiting(&self) {
        if self.udp.source().has(Readiness::WRITE) {
            self.send_waiters.borrow_mut().drain(..).for_each(|waker| waker.wake());
        }
    }

    fn is_ready(&self, reads: bool) -> bool {
        let udp = self.udp.source();
        let relayed = self.relay.as_ref().is_some_and(|it| it.source().has(Readiness::READ));
        let written = udp.has(Readiness::WRITE) && !self.send_waiters.borrow().is_empty();
        relayed || written || (reads && udp.has(Readiness::READ))
    }

    /// Reads the available packets; returns whether there may be more.
    fn receive_batch(self: &Rc<Self>, buffer: &mut [u8], reads: bool) -> bool {
        let now = self.instant(self.worker.rt.now());
        let view = self.service.view.borrow().clone();
        // Sets the configuration in the library's endpoint; without one, new connections are refused.
        let _ = self.server_config(&view);
        for _ in 0..BATCH {
            let relayed = self.relay.as_ref().and_then(|relay| relay.receive(buffer));
            if let Some(relayed) = relayed {
                let RelayedPackets::Packets(came) = relayed else {
                    self.count_event(|counters| &counters.quic_refused);
                    continue;
                };
                let ecn = EcnCodepoint::from_bits(came.ecn);
                for packet in came.packets.chunks(came.segment_bytes) {
                    self.handle_packet(now, came.from, came.to, ecn, packet);
                }
                continue;
            }
            if !reads {
                return false;
            }
            let Some(meta) = self.udp.receive(buffer) else { return false };
            let packets = &buffer[..meta.len.min(buffer.len())];
            let ecn = udp::ecn(&meta);
            let came = ReceivedPackets {
                from: meta.addr,
                to: meta.dst_ip,
                ecn: ecn.map_or(0, |ecn| ecn as u8),
                segment_bytes: meta.stride.max(1),
                packets,
            };
            if self.forward_foreign(&came) {
                continue;
            }
            for packet in packets.chunks(came.segment_bytes) {
                self.handle_packet(now, came.from, came.to, ecn, packet);
            }
        }
        true
    }

    /// Forwards packets of another endpoint; the first packet of a read decides for all of them.
    fn forward_foreign(&self, came: &ReceivedPackets<'_>) -> bool {
        let newest = || self.worker.endpoints.borrow().get(&self.local).copied();
        let whose = match connection_id::tag_of(came.packets) {
            Some(tag) if tag == self.tag => return false,
            Some(tag) => Some(tag),
            // New connections start at the endpoint that took over from this one.
            None if self.closing.get() && connection_id::may_begin_connection(came.packets) => {
                newest()
            }
            None => return false,
        };
        let Some(tag) = whose.filter(|tag| *tag != self.tag) else { return false };
        let Some(relay) = &self.relay else { return false };
        match relay.forward(tag, came, &mut self.scratch.borrow_mut()) {
            ForwardResult::Forwarded => self.count_event(|counters| &counters.quic_forwarded),
            ForwardResult::Full => self.count_event(|counters| &counters.quic_lost),
            ForwardResult::NoReceiver => return false,
        }
        true
    }

    fn handle_packet(
        self: &Rc<Self>,
        now: Instant,
        from: SocketAddr,
        to: Option<IpAddr>,
        ecn: Option<EcnCodepoint>,
        packet: &[u8],
    ) {
        let mut out = Vec::new();
        if connection_id::wants_other_version(packet, &mut out) {
            let destination = from;
            let size = out.len();
            let transmit =
                Transmit { destination, ecn: None, size, segment_size: None, src_ip: to };
            return self.send_answer(&transmit, &out);
        }
        let bytes = packet.len();
        let packet = BytesMut::from(packet);
        let event = self.machine.borrow_mut().handle(now, from, to, ecn, packet, &mut out);
        match event {
            None => {}
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let link = self.connections.borrow().get(&handle).cloned();
                if let Some(link) = link {
                    link.handle_datagram(event, from, bytes);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.admit(incoming),
            Some(DatagramEvent::Response(transmit)) => self.send_answer(&transmit, &out),
        }
    }

    /// Sends a stateless packet. If the socket is not writable, the packet is lost, as packets may be.
    fn send_answer(&self, transmit: &Transmit, contents: &[u8]) {
        if self.udp.send(transmit, &contents[..transmit.size]) != UdpSendResult::Done {
            self.count_event(|counters| &counters.quic_lost);
        }
    }

    /// The configuration of new connections; rebuilt when the service or its certificates have changed.
    fn server_config(&self, view: &Arc<ServiceView>) -> Option<Arc<ServerConfig>> {
        let mut made = self.server_config.borrow_mut();
        if let Some(built) = &*made
            && Arc::ptr_eq(&built.view, view)
        {
            return Some(built.config.clone());
        }
        let config = server_config::server(&self.keys, view)?;
        // The library takes its keys for Initial packets and Retry tokens from the configuration that is set.
        self.machine.borrow_mut().set_server_config(Some(config.clone()));
        *made = Some(BuiltServerConfig { view: view.clone(), config: config.clone() });
        Some(config)
    }

    /// Adds one to a counter of the service.
    pub fn count_event(&self, of: fn(&model::stats::ServiceCounters) -> &model::stats::Count) {
        let view = self.service.view.borrow().clone();
        of(&view.stats.slots[self.worker.index].counters).add(1);
    }
}
