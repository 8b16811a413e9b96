//! A world in memory: virtual time, connections with latency and small windows, and scripted peers.
//!
//! All randomness comes from one seed, so a run can be repeated. Nothing is reordered, since the kernel delivers bytes
//! in order in the real world.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use model::config::ServerEndpoint;
use model::load_balancing::Rng;

use crate::conn::ports::PortPath;
use crate::rt::Readiness;
use crate::rt::net_driver::ReadyEvent;

/// Events of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerEvent {
    /// The connection is established.
    Open,
    Data,
    /// The other side's end has arrived.
    End,
    /// The connection is broken or was refused.
    Broken,
    Timer,
    /// The peer may write again.
    Room,
}

pub trait ScriptedPeer {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo);
}

/// Creates a peer for each connection to a server's address.
pub type PeerFactory = Box<dyn FnMut() -> Option<Box<dyn ScriptedPeer>>>;

/// The handle through which a peer acts.
pub struct PeerIo<'a> {
    world: &'a mut SimWorld,
    sock: usize,
}

#[derive(Default)]
pub(super) struct WorldSocket {
    pub(super) other: usize,
    pub(super) inbox: VecDeque<u8>,
    window: usize,
    in_flight: usize,
    pub(super) open: bool,
    pub(super) refused: bool,
    /// An error that the next check returns and clears.
    pub(super) error: bool,
    pub(super) end_came: bool,
    end_sent: bool,
    pub(super) broken: bool,
    pub(super) closed: bool,
    blocked: bool,
    pub(super) linger_zero: bool,
    pub(super) token: Option<u64>,
    peer: Option<Box<dyn ScriptedPeer>>,
    pub(super) acknowledged: u64,
    busy_until: u64,
    pub(super) backlog: VecDeque<UnacceptedSocket>,
    pub(super) address: Option<SocketAddr>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WorldEvent {
    Deliver(usize, Vec<u8>),
    End(usize),
    Break(usize),
    Open(usize),
    Arrive(usize, usize, SocketAddr),
    Room(usize),
    Timer(usize),
}

/// An event and its time in nanoseconds; events of the same time happen in the order of their numbers.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PlannedWorldEvent {
    at: u64,
    number: u64,
    event: WorldEvent,
}

/// A connection that a listener has not accepted yet.
pub(super) struct UnacceptedSocket {
    pub(super) id: usize,
    pub(super) from: SocketAddr,
}

pub struct SimWorld {
    pub now: u64,
    /// The source of randomness.
    pub rng: Rng,
    sequence: u64,
    events: BinaryHeap<Reverse<PlannedWorldEvent>>,
    pub(super) socks: Vec<WorldSocket>,
    pub(super) ready: Vec<ReadyEvent>,
    pub(super) servers: HashMap<ServerEndpoint, PeerFactory>,
    /// What happens at addresses without a server; `Refuses` by default.
    pub(super) reach: HashMap<ServerEndpoint, ConnectReaction>,
    /// Paths without a free source port.
    pub(super) exhausted: HashSet<PortPath>,
    /// Calls of the worker since the last one with a result.
    idle_calls: u32,
    /// Turns that the worker requested immediately, since the last one with a result.
    idle_turns: u32,
    window: usize,
}

/// What happens to a connection without a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectReaction {
    /// Refused a moment later; the error can be read once.
    Refuses,
    /// Refused before the first check.
    RefusesAtOnce,
    /// Broken, with an error that was already read.
    Breaks,
    /// The handshake is never answered.
    Silent,
}

/// Most calls without a result in one turn; a correct worker makes fewer.
const IDLE_CALLS: u32 = 20_000;

/// Most immediate turns without a result; a correct worker requests fewer.
const IDLE_TURNS: u32 = 5_000;

impl SimWorld {
    /// An empty world; receive windows are `window` bytes.
    pub(super) fn new(seed: u64, window: usize) -> SimWorld {
        SimWorld {
            now: 1_000_000_000,
            rng: Rng::new(seed),
            sequence: 0,
            events: BinaryHeap::new(),
            socks: Vec::new(),
            ready: Vec::new(),
            servers: HashMap::new(),
            reach: HashMap::new(),
            exhausted: HashSet::new(),
            idle_calls: 0,
            idle_turns: 0,
            window,
        }
    }

    /// Records a call of the worker, which may not repeat calls without a result forever.
    pub(super) fn called(&mut self, useful: bool) {
        self.idle_calls = if useful { 0 } else { self.idle_calls + 1 };
        self.idle_turns *= u32::from(!useful);
        assert!(self.idle_calls < IDLE_CALLS, "a turn that does not end, at {}", self.now);
    }

    /// Records a turn of the worker. `at_once`: the worker requested it immediately.
    pub(super) fn turned(&mut self, at_once: bool) {
        self.idle_calls = 0;
        self.idle_turns = if at_once { self.idle_turns + 1 } else { 0 };
        assert!(self.idle_turns < IDLE_TURNS, "turns without end, at {}", self.now);
    }

    pub(super) fn sock(&mut self, peer: Option<Box<dyn ScriptedPeer>>) -> usize {
        let window = self.window;
        self.socks.push(WorldSocket { window, peer, ..WorldSocket::default() });
        self.socks.len() - 1
    }

    pub(super) fn join(&mut self, a: usize, b: usize) {
        for (one, other) in [(a, b), (b, a)] {
            self.socks[one].other = other;
            self.socks[one].open = true;
        }
    }

    pub(super) fn put(&mut self, at: u64, event: WorldEvent) {
        self.sequence += 1;
        self.events.push(Reverse(PlannedWorldEvent { at, number: self.sequence, event }));
    }

    /// Sends in order after this side's previous events.
    fn send(&mut self, from: usize, event: WorldEvent) {
        let latency = 20_000 + self.rng.below(200_000);
        let at = (self.now + latency).max(self.socks[from].busy_until);
        self.socks[from].busy_until = at;
        self.put(at, event);
    }

    pub(super) fn report(&mut self, id: usize, bits: u8) {
        if let Some(token) = self.socks[id].token {
            self.ready.push(ReadyEvent { token, readiness: Readiness(bits) });
        }
    }

    fn notify(&mut self, id: usize, what: PeerEvent) {
        if let Some(mut peer) = self.socks[id].peer.take() {
            peer.on_event(what, &mut PeerIo { world: self, sock: id });
            if !self.socks[id].closed {
                self.socks[id].peer = Some(peer);
            }
        }
    }

    fn handle_event(&mut self, event: WorldEvent) {
        match event {
            WorldEvent::Deliver(to, bytes) => {
                let from = self.socks[to].other;
                self.socks[to].in_flight -= bytes.len();
                if self.socks[to].closed {
                    return self.send(to, WorldEvent::Break(from));
                }
                if !self.socks[to].broken {
                    self.socks[from].acknowledged += bytes.len() as u64;
                    self.socks[to].inbox.extend(bytes);
                    self.report(to, Readiness::READ);
                    self.notify(to, PeerEvent::Data);
                }
            }
            WorldEvent::End(to) => {
                self.socks[to].end_came = true;
                self.report(to, Readiness::READ | Readiness::END);
                self.notify(to, PeerEvent::End);
            }
            WorldEvent::Break(to) => {
                if !self.socks[to].broken {
                    self.socks[to].broken = true;
                    self.socks[to].inbox.clear();
                    self.report(to, Readiness::READ | Readiness::WRITE | Readiness::BROKEN);
                    self.notify(to, PeerEvent::Broken);
                }
            }
            WorldEvent::Open(id) => {
                self.socks[id].open |= !self.socks[id].refused;
                let refused = self.socks[id].refused;
                self.socks[id].error = refused;
                let bits = if refused { Readiness::READ | Readiness::BROKEN } else { 0 };
                self.report(id, Readiness::WRITE | bits);
                self.notify(id, PeerEvent::Open);
            }
            WorldEvent::Arrive(listener, sock, _) if self.socks[listener].closed => {
                self.close(sock, true);
            }
            WorldEvent::Arrive(listener, sock, from) => {
                self.socks[listener].backlog.push_back(UnacceptedSocket { id: sock, from });
                self.report(listener, Readiness::READ);
            }
            WorldEvent::Room(id) => {
                self.report(id, Readiness::WRITE);
                self.notify(id, PeerEvent::Room);
            }
            WorldEvent::Timer(id) => self.notify(id, PeerEvent::Timer),
        }
    }

    pub(super) fn write(&mut self, id: usize, bytes: &[u8]) -> io::Result<usize> {
        let other = self.socks[id].other;
        let sock = &self.socks[id];
        if sock.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !sock.open {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let receiver = &self.socks[other];
        let room = receiver.window.saturating_sub(receiver.inbox.len() + receiver.in_flight);
        let most = room.min(bytes.len());
        if most == 0 {
            self.socks[id].blocked = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if most < bytes.len() {
            self.socks[id].blocked = true;
        }
        self.socks[other].in_flight += most;
        let mut rest = &bytes[..most];
        while !rest.is_empty() {
            let piece = 1 + self.rng.below(1448.min(rest.len() as u64)) as usize;
            self.send(id, WorldEvent::Deliver(other, rest[..piece].to_vec()));
            rest = &rest[piece..];
        }
        Ok(most)
    }

    pub(super) fn read(&mut self, id: usize, into: &mut [u8]) -> io::Result<usize> {
        let sock = &mut self.socks[id];
        if sock.broken {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let n = into.len().min(sock.inbox.len());
        let (front, back) = sock.inbox.as_slices();
        let first = n.min(front.len());
        into[..first].copy_from_slice(&front[..first]);
        into[first..n].copy_from_slice(&back[..n - first]);
        sock.inbox.drain(..n);
        if n > 0 {
            let other = sock.other;
            if std::mem::take(&mut self.socks[other].blocked) {
                self.send(id, WorldEvent::Room(other));
            }
            return Ok(n);
        }
        if sock.end_came { Ok(0) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    pub(super) fn end(&mut self, id: usize) {
        if !std::mem::replace(&mut self.socks[id].end_sent, true) && !self.socks[id].broken {
            let other = self.socks[id].other;
            self.send(id, WorldEvent::End(other));
        }
    }

    pub(super) fn close(&mut self, id: usize, reset: bool) {
        if std::mem::replace(&mut self.socks[id].closed, true) {
            return;
        }
        self.socks[id].token = None;
        let other = self.socks[id].other;
        if other == id || !self.socks[id].open {
            return;
        }
        if reset && !self.socks[id].broken {
            self.send(id, WorldEvent::Break(other));
        } else {
            self.end(id);
        }
    }

    /// Advances the time until something is ready for the worker, or to `until`; false: there are no further events.
    pub(super) fn live(&mut self, until: u64) -> bool {
        while self.ready.is_empty() {
            match self.events.peek() {
                Some(Reverse(next)) if next.at <= until => {
                    if let Some(Reverse(next)) = self.events.pop() {
                        self.now = self.now.max(next.at);
                        self.idle_turns = 0;
                        self.handle_event(next.event);
                    }
                }
                _ if until < u64::MAX => {
                    self.now = self.now.max(until);
                    return true;
                }
                _ => return false,
            }
        }
        true
    }
}

impl PeerIo<'_> {
    pub fn now(&self) -> u64 {
        self.world.now
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.world.rng.below(n)
    }

    /// Returns the received bytes.
    pub fn take(&mut self) -> Vec<u8> {
        let mut all = vec![0; self.world.socks[self.sock].inbox.len()];
        let n = self.world.read(self.sock, &mut all).unwrap_or(0);
        all.truncate(n);
        all
    }

    /// Writes the bytes that fit and leaves the rest.
    pub fn write(&mut self, bytes: &mut Vec<u8>) {
        while !bytes.is_empty() {
            match self.world.write(self.sock, bytes) {
                Ok(n) => {
                    bytes.drain(..n);
                }
                Err(_) => return,
            }
        }
    }

    /// Requests a timer event.
    pub fn set_timer(&mut self, delay: Duration) {
        let at = self.world.now + delay.as_nanos() as u64;
        self.world.put(at, WorldEvent::Timer(self.sock));
    }

    /// Ends the sending direction; reading continues.
    pub fn end(&mut self) {
        self.world.end(self.sock);
    }

    /// Closes, in order or with a reset.
    pub fn close(&mut self, reset: bool) {
        self.world.close(self.sock, reset);
    }
}
