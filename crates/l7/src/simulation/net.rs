//! The simulated world as a worker's `Net`.
//!
//! There are no pipes here: splicing is for the real world. Whatever happens is decided in `world`.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::moment::Moment;

use super::world::{Event, Sim, SimSock};
use crate::rt::net::Ready;
use crate::rt::{Connect, Net, Readiness};

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
        if bits != 0 {
            world.report(sock.id, bits);
        }
        Ok(())
    }

    fn accept(&self, listener: &SimSock) -> io::Result<(SimSock, SocketAddr)> {
        let mut world = self.0.borrow_mut();
        let (id, from) =
            world.socks[listener.id].backlog.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
        Ok((SimSock { world: self.0.clone(), id }, from))
    }

    fn refuse_handshakes(&self, _: &SimSock) -> io::Result<()> {
        Ok(())
    }

    fn connect(&self, how: &Connect) -> io::Result<SimSock> {
        let mut world = self.0.borrow_mut();
        let near = world.sock(None);
        world.socks[near].address = Some(how.to);
        let peer = world.servers.get_mut(&how.to).and_then(|spawn| spawn());
        let latency = 50_000 + world.rng.below(400_000);
        let at = world.now + latency;
        match peer {
            Some(peer) => {
                let far = world.sock(Some(peer));
                world.socks[near].other = far;
                world.socks[far].other = near;
                world.socks[far].open = true;
                world.put(at, Event::Open(near));
                world.put(at, Event::Open(far));
            }
            None => {
                world.socks[near].other = near;
                world.socks[near].refused = true;
                world.put(at, Event::Open(near));
            }
        }
        Ok(SimSock { world: self.0.clone(), id: near })
    }

    fn established(&self, sock: &SimSock) -> io::Result<()> {
        let world = self.0.borrow();
        match &world.socks[sock.id] {
            state if state.open => Ok(()),
            state if state.refused => Err(io::ErrorKind::ConnectionRefused.into()),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn read(&self, sock: &SimSock, into: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(sock.id, into)
    }

    fn quiet(&self, sock: &SimSock) -> bool {
        let state = &self.0.borrow().socks[sock.id];
        state.inbox.is_empty() && !state.end_came && !state.broken
    }

    fn write(&self, sock: &SimSock, from: &[u8], _: bool) -> io::Result<usize> {
        self.0.borrow_mut().write(sock.id, from)
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
