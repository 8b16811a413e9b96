//! The simulated world as a worker's `NetDriver`.
//!
//! There are no pipes here, since splicing needs the kernel. Everything that happens is determined in `world`.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::config::ServerEndpoint;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::TcpInfoSample;

use super::world::{
    ConnectReaction, PeerFactory, ScriptedPeer, SimWorld, UnacceptedSocket, WorldEvent,
};
use crate::conn::ports::PortPath;
use crate::rt::net_driver::ReadyEvent;
use crate::rt::{AcceptedSocket, ConnectTarget, NetDriver, Readiness};

/// A worker's handle to the world.
#[derive(Clone)]
pub struct SimNet(pub Rc<RefCell<SimWorld>>);

pub struct SimSocket {
    world: Rc<RefCell<SimWorld>>,
    /// The number in the world.
    pub(super) id: usize,
}

impl Drop for SimSocket {
    fn drop(&mut self) {
        let mut world = self.world.borrow_mut();
        let unread = !world.socks[self.id].inbox.is_empty() || world.socks[self.id].linger_zero;
        world.close(self.id, unread);
        for UnacceptedSocket { id: sock, .. } in std::mem::take(&mut world.socks[self.id].backlog) {
            world.close(sock, true);
        }
    }
}

impl SimNet {
    /// Lets time pass in which the worker computes.
    pub fn spend(&self, time: Duration) {
        self.0.borrow_mut().now += time.as_nanos() as u64;
    }

    /// An empty world with receive windows of `window` bytes.
    pub fn new(seed: u64, window: usize) -> SimNet {
        SimNet(Rc::new(RefCell::new(SimWorld::new(seed, window))))
    }

    /// A listener of the worker.
    pub fn listener(&self) -> SimSocket {
        let id = self.0.borrow_mut().sock(None);
        SimSocket { world: self.0.clone(), id }
    }

    /// Starts servers at an address.
    pub fn serve(&self, at: impl Into<ServerEndpoint>, spawn: PeerFactory) {
        self.0.borrow_mut().servers.insert(at.into(), spawn);
    }

    /// Sets what happens at an address without a server.
    pub fn reach(&self, at: impl Into<ServerEndpoint>, reach: ConnectReaction) {
        self.0.borrow_mut().reach.insert(at.into(), reach);
    }

    /// A client that connects to the worker's listener after `delay`.
    pub fn client(
        &self,
        listener: usize,
        from: SocketAddr,
        delay: Duration,
        peer: Box<dyn ScriptedPeer>,
    ) {
        let mut world = self.0.borrow_mut();
        let near = world.sock(None);
        let far = world.sock(Some(peer));
        world.join(near, far);
        let at = world.now + delay.as_nanos() as u64;
        world.put(at, WorldEvent::Arrive(listener, near, from));
        world.put(at + 1, WorldEvent::Open(far));
    }
}

impl NetDriver for SimNet {
    type Sock = SimSocket;
    type Pipe = ();

    fn now(&self) -> MonotonicTime {
        MonotonicTime(self.0.borrow().now)
    }

    fn wait(&self, timeout: Option<Duration>, into: &mut Vec<ReadyEvent>) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        // Computing takes time too.
        world.now += 1_000;
        world.turned(timeout == Some(Duration::ZERO));
        let until = timeout.map_or(u64::MAX, |t| world.now + t.as_nanos() as u64);
        world.live(until);
        into.append(&mut world.ready);
        Ok(())
    }

    fn adopt(&self, _: Arc<OwnedFd>) -> io::Result<SimSocket> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn deregister(&self, _: &SimSocket) {}

    fn register(&self, sock: &SimSocket, token: u64) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.socks[sock.id].token = Some(token);
        let state = &world.socks[sock.id];
        let mut bits = 0;
        if !state.inbox.is_empty() || !state.backlog.is_empty() {
            bits |= Readiness::READ;
        }
        if state.end_came {
            bits |= Readiness::READ | Readiness::END;
        }
        if state.broken {
            bits |= Readiness::READ | Readiness::BROKEN;
        }
        if state.error || (state.refused && state.broken) {
            bits |= Readiness::READ | Readiness::WRITE | Readiness::BROKEN;
        }
        if bits != 0 {
            world.report(sock.id, bits);
        }
        Ok(())
    }

    fn accept(&self, listener: &SimSocket) -> io::Result<AcceptedSocket<SimSocket>> {
        let mut world = self.0.borrow_mut();
        let next = world.socks[listener.id].backlog.pop_front();
        world.called(next.is_some());
        let UnacceptedSocket { id, from } = next.ok_or(io::ErrorKind::WouldBlock)?;
        Ok(AcceptedSocket { sock: SimSocket { world: self.0.clone(), id }, peer: from })
    }

    fn local_address(&self, _: &SimSocket) -> Option<SocketAddr> {
        None
    }

    fn is_reserved_descriptor(&self, _: &SimSocket) -> bool {
        false
    }

    fn refuse_handshakes(&self, _: &SimSocket) -> io::Result<()> {
        Ok(())
    }

    fn connect(&self, how: &ConnectTarget) -> io::Result<SimSocket> {
        let mut world = self.0.borrow_mut();
        world.called(false);
        let is_exhausted =
            |to| world.exhausted.contains(&PortPath { source: how.from, destination: to });
        if how.to.socket_address().is_some_and(is_exhausted) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let near = world.sock(None);
        world.socks[near].address = how.to.socket_address();
        let peer = world.servers.get_mut(how.to).and_then(|spawn| spawn());
        let latency = 50_000 + world.rng.below(400_000);
        let at = world.now + latency;
        if let Some(peer) = peer {
            let far = world.sock(Some(peer));
            world.socks[near].other = far;
            world.socks[far].other = near;
            world.socks[far].open = true;
            world.put(at, WorldEvent::Open(near));
            world.put(at, WorldEvent::Open(far));
            return Ok(SimSocket { world: self.0.clone(), id: near });
        }
        let reach = world.reach.get(how.to).copied().unwrap_or(ConnectReaction::Refuses);
        let sock = &mut world.socks[near];
        sock.other = near;
        sock.refused = reach != ConnectReaction::Silent;
        match reach {
            ConnectReaction::Refuses => world.put(at, WorldEvent::Open(near)),
            ConnectReaction::RefusesAtOnce => sock.error = true,
            ConnectReaction::Breaks => sock.broken = true,
            ConnectReaction::Silent => {}
        }
        Ok(SimSocket { world: self.0.clone(), id: near })
    }

    fn established(&self, sock: &SimSocket) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.called(false);
        let state = &mut world.socks[sock.id];
        if state.open {
            Ok(())
        } else if std::mem::take(&mut state.error) {
            Err(io::ErrorKind::ConnectionRefused.into())
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    fn read(&self, sock: &SimSocket, into: &mut [u8]) -> io::Result<usize> {
        let mut world = self.0.borrow_mut();
        let result = world.read(sock.id, into);
        world.called(result.as_ref().is_ok_and(|n| *n > 0));
        result
    }

    fn is_quiet(&self, sock: &SimSocket) -> bool {
        let mut world = self.0.borrow_mut();
        world.called(false);
        let state = &world.socks[sock.id];
        state.inbox.is_empty() && !state.end_came && !state.broken
    }

    fn write(&self, sock: &SimSocket, from: &[u8], _: bool) -> io::Result<usize> {
        let mut world = self.0.borrow_mut();
        let result = world.write(sock.id, from);
        world.called(result.as_ref().is_ok_and(|n| *n > 0));
        result
    }

    fn end(&self, sock: &SimSocket) -> io::Result<()> {
        self.0.borrow_mut().end(sock.id);
        Ok(())
    }

    fn reset_on_drop(&self, sock: &SimSocket) {
        self.0.borrow_mut().socks[sock.id].linger_zero = true;
    }

    fn acknowledged(&self, sock: &SimSocket) -> Option<u64> {
        Some(self.0.borrow().socks[sock.id].acknowledged)
    }

    fn local_port(&self, _: &SimSocket) -> Option<u16> {
        None
    }

    fn acknowledge_now(&self, _: &SimSocket) {}

    fn counters(&self, _: &SimSocket) -> Option<TcpInfoSample> {
        None
    }

    fn run_delay_ns(&self) -> Option<u64> {
        None
    }

    fn pipe(&self) -> Option<()> {
        None
    }

    fn fill(&self, _: &SimSocket, (): &(), _: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn pour(&self, (): &(), _: &SimSocket, _: usize, _: bool) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
