//! One worker's endpoint at one address: takes packets, hands each to whom it belongs, and admits new connections.
//!
//! It sends answers of its own (Retry, refusals); connections send theirs. What they carry is `http3`'s.

mod admit;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use bytes::BytesMut;
use model::moment::Moment;
use model::snapshot::ServiceView;
use quinn_proto::{ConnectionEvent, ConnectionHandle, DatagramEvent, EcnCodepoint, EndpointEvent};
use quinn_proto::{ServerConfig, Transmit};

use super::id::{self, Tag};
use super::link::Link;
use super::relay::{Came, Passed, Relay, Relayed};
use super::setup::{self, Keys};
use super::udp::{self, Sent, Udp};
use crate::accept::Wanted;
use crate::admission::OpenConnection;
use crate::caller::Caller;
use crate::local::LocalService;
use crate::rt::Readiness;
use crate::rt::epoll::Epoll;
use crate::worker::Worker;

/// Reads in one turn before others get theirs.
const BATCH: usize = 32;

/// What the kernel gives in one read at most.
const READ: usize = 64 * 1024;

/// What comes with packets that are handed on.
const BEFORE: usize = 64;

/// The endpoint.
pub struct Endpoint {
    /// Its worker.
    pub worker: Rc<Worker<Epoll>>,
    /// Its service.
    pub service: Rc<LocalService<Epoll>>,
    tag: Tag,
    local: SocketAddr,
    udp: Udp,
    relay: Option<Relay>,
    machine: RefCell<quinn_proto::Endpoint>,
    links: RefCell<HashMap<ConnectionHandle, Rc<Link>>>,
    /// Connections that wait until the socket takes more.
    waiting: RefCell<Vec<Waker>>,
    made: RefCell<Option<(Arc<ServiceView>, Arc<ServerConfig>)>>,
    keys: Keys,
    since: (Instant, Moment),
    /// Nobody new is admitted.
    closing: Cell<bool>,
    scratch: RefCell<Vec<u8>>,
    started: fn(Rc<Endpoint>, Admitted),
}

/// A connection that was admitted.
pub struct Admitted {
    /// What carries it.
    pub link: Rc<Link>,
    /// Between whom it is.
    pub caller: Caller,
    /// It, being counted.
    pub open: OpenConnection,
}

/// Serves an endpoint until something else is wanted and its connections have ended; `started` takes new ones.
pub async fn listen(
    worker: Rc<Worker<Epoll>>,
    socket: std::os::fd::OwnedFd,
    local: SocketAddr,
    service: Rc<LocalService<Epoll>>,
    wanted: Rc<Cell<Wanted>>,
    started: fn(Rc<Endpoint>, Admitted),
) {
    let Ok(endpoint) = Endpoint::new(worker.clone(), socket, local, service, started) else {
        let seen = crate::outside::Observation::NoDescriptor { worker: worker.index };
        return worker.outside.observe(seen);
    };
    let endpoint = Rc::new(endpoint);
    worker.endpoints.borrow_mut().insert(local, endpoint.tag);
    let mut buffer = vec![0; READ + BEFORE];
    loop {
        let reads = wanted.get() != Wanted::Drop;
        if wanted.get() != Wanted::Open && !endpoint.closing.replace(true) {
            endpoint.links.borrow().values().for_each(|link| link.nudge());
        }
        if endpoint.closing.get() && endpoint.links.borrow().is_empty() {
            break;
        }
        endpoint.wake_waiting();
        if endpoint.batch(&mut buffer, reads) {
            worker.rt.yield_now().await;
            continue;
        }
        std::future::poll_fn(|_| {
            let news = endpoint.closing.get() != (wanted.get() != Wanted::Open);
            let over = endpoint.closing.get() && endpoint.links.borrow().is_empty();
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

impl Endpoint {
    fn new(
        worker: Rc<Worker<Epoll>>,
        socket: std::os::fd::OwnedFd,
        local: SocketAddr,
        service: Rc<LocalService<Epoll>>,
        started: fn(Rc<Endpoint>, Admitted),
    ) -> std::io::Result<Endpoint> {
        let (tag, keys) = (Tag::draw(), Keys::draw());
        let udp = Udp::new(&worker.rt, socket)?;
        let config = Arc::new(setup::endpoint(&keys, tag));
        let machine = quinn_proto::Endpoint::new(config, None, udp.keeps_whole(), None);
        Ok(Endpoint {
            tag,
            local,
            // Without one, packets of clients that have moved to another worker are lost, and nothing else.
            relay: Relay::new(&worker.rt, tag).ok(),
            udp,
            machine: RefCell::new(machine),
            links: RefCell::default(),
            waiting: RefCell::default(),
            made: RefCell::default(),
            keys,
            since: (Instant::now(), worker.rt.now()),
            closing: Cell::new(false),
            scratch: RefCell::default(),
            started,
            worker,
            service,
        })
    }

    /// A moment on the clock of the machines.
    pub fn instant(&self, at: Moment) -> Instant {
        self.since.0 + at.since(self.since.1)
    }

    /// The other way round.
    pub fn moment(&self, at: Instant) -> Moment {
        self.since.1 + at.saturating_duration_since(self.since.0)
    }

    /// Whether its connections are to end in order.
    pub fn is_closing(&self) -> bool {
        self.closing.get()
    }

    /// How many packets go in one call at most.
    pub fn at_once(&self) -> usize {
        self.udp.at_once()
    }

    /// Sends; when that has to wait, `waker` is woken once there is room.
    pub fn send(&self, transmit: &Transmit, contents: &[u8], waker: &Waker) -> Sent {
        if !self.udp.source().has(Readiness::WRITE) {
            self.waiting.borrow_mut().push(waker.clone());
            return Sent::Later;
        }
        let sent = self.udp.send(transmit, contents);
        match sent {
            Sent::Later => self.waiting.borrow_mut().push(waker.clone()),
            Sent::Lost => self.count(|counters| &counters.quic_lost),
            Sent::Done => {}
        }
        sent
    }

    /// Tells the machine what a connection has to say to it; what it answers is for the connection.
    pub fn told(&self, handle: ConnectionHandle, event: EndpointEvent) -> Option<ConnectionEvent> {
        self.machine.borrow_mut().handle_event(handle, event)
    }

    /// A connection is over; `drained`: the machine knows.
    pub fn forget(&self, handle: ConnectionHandle, drained: bool) {
        if !drained {
            self.told(handle, EndpointEvent::drained());
        }
        self.links.borrow_mut().remove(&handle);
    }

    fn wake_waiting(&self) {
        if self.udp.source().has(Readiness::WRITE) {
            self.waiting.borrow_mut().drain(..).for_each(|waker| waker.wake());
        }
    }

    fn is_ready(&self, reads: bool) -> bool {
        let udp = self.udp.source();
        let relayed = self.relay.as_ref().is_some_and(|it| it.source().has(Readiness::READ));
        let written = udp.has(Readiness::WRITE) && !self.waiting.borrow().is_empty();
        relayed || written || (reads && udp.has(Readiness::READ))
    }

    /// Takes what is there; whether there may be more.
    fn batch(self: &Rc<Self>, buffer: &mut [u8], reads: bool) -> bool {
        let now = self.instant(self.worker.rt.now());
        let view = self.service.view.borrow().clone();
        // Without one nobody new is taken, and told so when they come.
        let _ = self.config(&view);
        for _ in 0..BATCH {
            let relayed = self.relay.as_ref().and_then(|relay| relay.receive(buffer));
            if let Some(relayed) = relayed {
                let Relayed::Came(came) = relayed else {
                    self.count(|counters| &counters.quic_refused);
                    continue;
                };
                let ecn = EcnCodepoint::from_bits(came.ecn);
                for packet in came.packets.chunks(came.stride) {
                    self.take(now, came.from, came.to, ecn, packet);
                }
                continue;
            }
            if !reads {
                return false;
            }
            let Some(meta) = self.udp.receive(buffer) else { return false };
            let packets = &buffer[..meta.len.min(buffer.len())];
            let ecn = udp::ecn(&meta);
            let came = Came {
                from: meta.addr,
                to: meta.dst_ip,
                ecn: ecn.map_or(0, |ecn| ecn as u8),
                stride: meta.stride.max(1),
                packets,
            };
            if self.belongs_elsewhere(&came) {
                continue;
            }
            for packet in packets.chunks(came.stride) {
                self.take(now, came.from, came.to, ecn, packet);
            }
        }
        true
    }

    /// Hands packets on that are another endpoint's: their first tells for all of one read.
    fn belongs_elsewhere(&self, came: &Came<'_>) -> bool {
        let newest = || self.worker.endpoints.borrow().get(&self.local).copied();
        let whose = match id::tag_of(came.packets) {
            Some(tag) if tag == self.tag => return false,
            Some(tag) => Some(tag),
            // Who begins does so with the endpoint that took over from this one.
            None if self.closing.get() && id::may_begin(came.packets) => newest(),
            None => return false,
        };
        let Some(tag) = whose.filter(|tag| *tag != self.tag) else { return false };
        let Some(relay) = &self.relay else { return false };
        match relay.pass(tag, came, &mut self.scratch.borrow_mut()) {
            Passed::Yes => self.count(|counters| &counters.quic_forwarded),
            Passed::Full => self.count(|counters| &counters.quic_lost),
            Passed::Nobody => return false,
        }
        true
    }

    fn take(
        self: &Rc<Self>,
        now: Instant,
        from: SocketAddr,
        to: Option<IpAddr>,
        ecn: Option<EcnCodepoint>,
        packet: &[u8],
    ) {
        let mut out = Vec::new();
        if id::wants_other_version(packet, &mut out) {
            let (destination, size) = (from, out.len());
            let transmit =
                Transmit { destination, ecn: None, size, segment_size: None, src_ip: to };
            return self.answer(&transmit, &out);
        }
        let bytes = packet.len();
        let packet = BytesMut::from(packet);
        let event = self.machine.borrow_mut().handle(now, from, to, ecn, packet, &mut out);
        match event {
            None => {}
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let link = self.links.borrow().get(&handle).cloned();
                if let Some(link) = link {
                    link.came(event, from, bytes);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.admit(incoming),
            Some(DatagramEvent::Response(transmit)) => self.answer(&transmit, &out),
        }
    }

    /// An answer of the endpoint's own: lost where there is no room, as packets are.
    fn answer(&self, transmit: &Transmit, contents: &[u8]) {
        if self.udp.send(transmit, &contents[..transmit.size]) != Sent::Done {
            self.count(|counters| &counters.quic_lost);
        }
    }

    /// What new connections get; made again when the service or its certificates have changed.
    fn config(&self, view: &Arc<ServiceView>) -> Option<Arc<ServerConfig>> {
        let mut made = self.made.borrow_mut();
        if let Some((of, config)) = &*made
            && Arc::ptr_eq(of, view)
        {
            return Some(config.clone());
        }
        let config = setup::server(&self.keys, view)?;
        // The machine takes its keys of the first packets, and of proofs, from the one that it has.
        self.machine.borrow_mut().set_server_config(Some(config.clone()));
        *made = Some((view.clone(), config.clone()));
        Some(config)
    }

    /// Counts one of something.
    pub fn count(&self, of: fn(&model::live::ServiceCounters) -> &model::live::Count) {
        let view = self.service.view.borrow().clone();
        of(&view.live.slots[self.worker.index].counters).add(1);
    }
}
