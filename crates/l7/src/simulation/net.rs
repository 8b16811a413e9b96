//! The simulated world as a worker's `Net`.
//!
//! There are no pipes here: splicing is for the real world. Whatever happens is decided in `world`.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use model::attribute::Tcp;
use model::moment::Moment;

use super::world::{Event, Peer, Reach, Spawn, World};
use crate::rt::net::Ready;
use crate::rt::{Connect, Net, Readiness};

/// A worker's handle on the world.
#[derive(Clone)]
pub struct Sim(pub Rc<RefCell<World>>);

/// A worker's socket.
pub struct SimSock {
    world: Rc<RefCell<World>>,
    /// Its number in the world.
    pub(super) id: usize,
}

impl Drop for SimSock {
    fn drop(&mut self) {
        let mut world = self.world.borrow_mut();
        let unread = !world.socks[self.id].inbox.is_empty() || world.socks[self.id].linger_zero;
        world.close(self.id, unread);
        for (sock, _) in std::mem::take(&mut world.socks[self.id].backlog) {
            world.close(sock, true);
        }
    }
}

impl Sim {
    /// An empty world whose receive windows are `window` bytes.
    pub fn new(seed: u64, window: usize) -> Sim {
        Sim(Rc::new(RefCell::new(World::new(seed, window))))
    }

    /// A listener of the worker.
    pub fn listener(&self) -> SimSock {
        let id = self.0.borrow_mut().sock(None);
        SimSock { world: self.0.clone(), id }
    }

    /// Lets servers live at an address.
    pub fn serve(&self, at: SocketAddr, spawn: Spawn) {
        self.0.borrow_mut().servers.insert(at, spawn);
    }

    /// Says what happens at an address without a server.
    pub fn reach(&self, at: SocketAddr, reach: Reach) {
        self.0.borrow_mut().reach.insert(at, reach);
    }

    /// A client that connects to the worker's listener after `delay`.
    pub fn client(&self, listener: usize, from: SocketAddr, delay: Duration, peer: Box<dyn Peer>) {
        let mut world = self.0.borrow_mut();
        let (near, far) = (world.sock(None), world.sock(Some(peer)));
        world.join(near, far);
        let at = world.now + delay.as_nanos() as u64;
        world.put(at, Event::Arrive(listener, near, from));
        world.put(at + 1, Event::Open(far));
    }
}

impl Net for Sim {
    type Sock = SimSock;
    type Pipe = ();

    fn now(&self) -> Moment {
        Moment(self.0.borrow().now)
    }

    fn wait(&self, timeout: Option<Duration>, into: &mut Vec<Ready>) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        // Computing takes time too.
        world.now += 1_000;
        world.turned(timeout == Some(Duration::ZERO));
        let until = timeout.map_or(u64::MAX, |t| world.now + t.as_nanos() as u64);
        world.live(until);
        into.append(&mut world.ready);
        Ok(())
    }

    fn adopt(&self, _: OwnedFd) -> io::Result<SimSock> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn register(&self, sock: &SimSock, token: u64) -> io::Result<()> {
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

    fn accept(&self, listener: &SimSock) -> io::Result<(SimSock, SocketAddr)> {
        let mut world = self.0.borrow_mut();
        let next = world.socks[listener.id].backlog.pop_front();
        world.called(next.is_some());
        let (id, from) = next.ok_or(io::ErrorKind::WouldBlock)?;
        Ok((SimSock { world: self.0.clone(), id }, from))
    }

    fn local(&self, _: &SimSock) -> Option<SocketAddr> {
        None
    }

    fn kept_back(&self, _: &SimSock) -> bool {
        false
    }

    fn refuse_handshakes(&self, _: &SimSock) -> io::Result<()> {
        Ok(())
    }

    fn connect(&self, how: &Connect) -> io::Result<SimSock> {
        let mut world = self.0.borrow_mut();
        world.called(false);
        if world.exhausted.contains(&(how.from, how.to)) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let near = world.sock(None);
        world.socks[near].address = Some(how.to);
        let peer = world.servers.get_mut(&how.to).and_then(|spawn| spawn());
        let latency = 50_000 + world.rng.below(400_000);
        let at = world.now + latency;
        if let Some(peer) = peer {
            let far = world.sock(Some(peer));
            world.socks[near].other = far;
            world.socks[far].other = near;
            world.socks[far].open = true;
            world.put(at, Event::Open(near));
            world.put(at, Event::Open(far));
            return Ok(SimSock { world: self.0.clone(), id: near });
        }
        let reach = world.reach.get(&how.to).copied().unwrap_or(Reach::Refuses);
        let sock = &mut world.socks[near];
        sock.other = near;
        sock.refused = reach != Reach::Silent;
        match reach {
            Reach::Refuses => world.put(at, Event::Open(near)),
            Reach::RefusesAtOnce => sock.error = true,
            Reach::Breaks => sock.broken = true,
            Reach::Silent => {}
        }
        Ok(SimSock { world: self.0.clone(), id: near })
    }

    fn established(&self, sock: &SimSock) -> io::Result<()> {
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

    fn read(&self, sock: &SimSock, into: &mut [u8]) -> io::Result<usize> {
        let mut world = self.0.borrow_mut();
        let result = world.read(sock.id, into);
        world.called(result.as_ref().is_ok_and(|n| *n > 0));
        result
    }

    fn quiet(&self, sock: &SimSock) -> bool {
        let mut world = self.0.borrow_mut();
        world.called(false);
        let state = &world.socks[sock.id];
        state.inbox.is_empty() && !state.end_came && !state.broken
    }

    fn write(&self, sock: &SimSock, from: &[u8], _: bool) -> io::Result<usize> {
        let mut world = self.0.borrow_mut();
        let result = world.write(sock.id, from);
        world.called(result.as_ref().is_ok_and(|n| *n > 0));
        result
    }

    fn end(&self, sock: &SimSock) -> io::Result<()> {
        self.0.borrow_mut().end(sock.id);
        Ok(())
    }

    fn reset_on_drop(&self, sock: &SimSock) {
        self.0.borrow_mut().socks[sock.id].linger_zero = true;
    }

    fn acknowledged(&self, sock: &SimSock) -> Option<u64> {
        Some(self.0.borrow().socks[sock.id].acknowledged)
    }

    fn port(&self, _: &SimSock) -> Option<u16> {
        None
    }

    fn counters(&self, _: &SimSock) -> Option<Tcp> {
        None
    }

    fn pipe(&self) -> Option<()> {
        None
    }

    fn fill(&self, _: &SimSock, (): &(), _: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn pour(&self, (): &(), _: &SimSock, _: usize, _: bool) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
