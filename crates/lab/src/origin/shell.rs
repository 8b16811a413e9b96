//! The sockets and clock of one origin, and the orders it gets while running.
//!
//! What is answered is decided in `http`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use model::moment::Moment;
use rustix::io::{Errno, writev};
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv, sockopt};

use super::connection::Connection;
use super::counts::Counts;
use super::echo::Echo;
use super::http::{Ending, Http};
use super::options::{Kind, Options};
use super::site::{FILLER, Fault, Site};
use crate::poller::{Poller, Ready, now};
use crate::port::bound;

/// Told by the kernel's answer.
type Done = SyncSender<Result<(), Errno>>;

/// What an origin can be told.
pub enum Order {
    /// Stop listening, reset everything.
    Kill { done: Done },
    /// Listen again.
    Revive { done: Done },
    /// Stop or resume doing anything.
    Hang { hang: bool, done: Done },
    /// Misbehave.
    Fault { fault: Option<Fault>, done: Done },
    /// Close idle connections.
    IdleClose { after: Option<Duration>, done: Done },
    /// End.
    Stop,
}

/// One origin's thread.
#[derive(Debug)]
pub struct Shell {
    kind: Kind,
    site: Site,
    address: SocketAddr,
    listener: Option<OwnedFd>,
    /// While killed: holds the port, so that nothing else takes it.
    reserved: Option<OwnedFd>,
    poller: Poller,
    inbox: Receiver<Order>,
    counts: Arc<Counts>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    wakes: BinaryHeap<Reverse<(Moment, usize, u32)>>,
    idle_close: Option<Duration>,
    hung: bool,
    scratch: Box<[u8]>,
    filler: Box<[u8]>,
}

#[derive(Debug)]
struct Slot {
    socket: Option<OwnedFd>,
    connection: Connection,
    serial: u32,
    last: Moment,
}

impl Shell {
    /// Ready to run.
    pub fn new(
        options: Options,
        address: SocketAddr,
        listener: OwnedFd,
        poller: Poller,
        inbox: Receiver<Order>,
        counts: Arc<Counts>,
    ) -> Result<Shell, Errno> {
        let body = match options.kind {
            Kind::Http { body } => body.min(1 << 30),
            Kind::Echo => 0,
        };
        poller.add_listener(&listener, LISTENER)?;
        Ok(Shell {
            kind: options.kind,
            site: Site::new(&options.name, body, options.seen),
            address,
            listener: Some(listener),
            reserved: None,
            poller,
            inbox,
            counts,
            slots: Vec::new(),
            free: Vec::new(),
            wakes: BinaryHeap::new(),
            idle_close: options.idle_close,
            hung: false,
            scratch: vec![0; SCRATCH].into(),
            filler: vec![FILLER; SCRATCH].into(),
        })
    }

    /// Runs until told to stop.
    pub fn run(mut self) {
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            let due = match self.wakes.peek() {
                Some(Reverse((at, ..))) if !self.hung => *at,
                _ => Moment::NEVER,
            };
            if self.poller.wait(due, &mut ready).is_err() || !self.take_orders() {
                return;
            }
            if self.hung {
                continue;
            }
            for event in &ready {
                if event.token == LISTENER {
                    self.accept();
                } else {
                    let slot = (event.token & u64::from(u32::MAX)) as usize;
                    if self
                        .slots
                        .get(slot)
                        .is_some_and(|s| u64::from(s.serial) == event.token >> 32)
                    {
                        self.drive(slot, event.readable, event.ended);
                    }
                }
            }
            self.wake();
            self.counts.requests.store(self.site.requests, Ordering::Relaxed);
            let open = self.slots.len() - self.free.len();
            self.counts.open.store(open as u64, Ordering::Relaxed);
        }
    }

    /// `false`: the end.
    fn take_orders(&mut self) -> bool {
        while let Ok(order) = self.inbox.try_recv() {
            let (outcome, done) = match order {
                Order::Stop => return false,
                Order::Kill { done } => (self.kill(), done),
                Order::Revive { done } => (self.revive(), done),
                Order::Hang { hang, done } => (self.hang(hang), done),
                Order::Fault { fault, done } => {
                    self.site.fault = fault;
                    (Ok(()), done)
                }
                Order::IdleClose { after, done } => {
                    self.idle_close = after;
                    (0..self.slots.len()).for_each(|slot| self.watch_idle(slot));
                    (Ok(()), done)
                }
            };
            let _ = done.send(outcome);
        }
        true
    }

    fn kill(&mut self) -> Result<(), Errno> {
        if let Some(listener) = self.listener.take() {
            sockopt::set_socket_reuseport(&listener, true)?;
            let reserved = bound(self.address, true)?;
            // With neither, nobody else can bind the port, however they ask.
            sockopt::set_socket_reuseport(&reserved, false)?;
            sockopt::set_socket_reuseaddr(&reserved, false)?;
            self.reserved = Some(reserved);
        }
        (0..self.slots.len()).for_each(|slot| self.close(slot, Ending::Reset));
        self.counts.open.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn revive(&mut self) -> Result<(), Errno> {
        self.hung = false;
        if let Some(reserved) = self.reserved.take() {
            sockopt::set_socket_reuseaddr(&reserved, true)?;
            listen(&reserved)?;
            self.poller.add_listener(&reserved, LISTENER)?;
            self.listener = Some(reserved);
        }
        Ok(())
    }

    fn hang(&mut self, hang: bool) -> Result<(), Errno> {
        if let Some(listener) = &self.listener
            && hang != self.hung
        {
            if hang {
                self.poller.remove(listener)?;
            } else {
                self.poller.add_listener(listener, LISTENER)?;
            }
        }
        self.hung = hang;
        if !hang {
            (0..self.slots.len()).for_each(|slot| self.drive(slot, true, true));
        }
        Ok(())
    }

    fn accept(&mut self) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        for _ in 0..ACCEPTS {
            let Some(listener) = &self.listener else { return };
            let socket = match accept_with(listener, flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    self.counts.accept_failed.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            };
            let _ = sockopt::set_tcp_nodelay(&socket, true);
            let connection = match self.kind {
                Kind::Http { .. } => Connection::Http(Box::new(Http::new())),
                Kind::Echo => Connection::Echo(Echo::default()),
            };
            let slot = self.free.pop().unwrap_or(self.slots.len());
            let serial = self.slots.get(slot).map_or(0, |old| old.serial.wrapping_add(1));
            if self.poller.add(&socket, u64::from(serial) << 32 | slot as u64).is_err() {
                self.counts.accept_failed.fetch_add(1, Ordering::Relaxed);
                if slot < self.slots.len() {
                    self.free.push(slot);
                }
                return;
            }
            let new = Slot { socket: Some(socket), connection, serial, last: now() };
            match self.slots.get_mut(slot) {
                Some(old) => *old = new,
                None => self.slots.push(new),
            }
            self.counts.accepted.fetch_add(1, Ordering::Relaxed);
            self.watch_idle(slot);
            // The request is often there already; an event for it would come only with the next wait.
            self.drive(slot, true, false);
        }
    }

    /// Reads, answers and sends until the kernel or the connection wants no more.
    fn drive(&mut self, slot: usize, readable: bool, to_the_end: bool) {
        let mut may_read = readable;
        loop {
            let current = &mut self.slots[slot];
            let Some(socket) = current.socket.as_ref() else { return };
            if may_read && current.connection.wants_more() {
                match recv(socket, &mut self.scratch[..], RecvFlags::empty()) {
                    Ok((0, _)) if current.connection.peer_ended() => may_read = false,
                    Ok((0, _)) => return self.close(slot, Ending::Close),
                    Ok((bytes, _)) => {
                        may_read = bytes == self.scratch.len() || to_the_end;
                        let time = now();
                        current.last = time;
                        current.connection.received(&self.scratch[..bytes], &mut self.site, time);
                    }
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => may_read = false,
                    Err(_) => return self.close(slot, Ending::Close),
                }
            }
            if !self.flush(slot) {
                return;
            }
            let current = &mut self.slots[slot];
            if let Some(at) = current.connection.wake_at() {
                self.wakes.push(Reverse((at, slot, current.serial)));
            }
            if current.connection.has_input() {
                current.connection.received(&[], &mut self.site, now());
                if current.connection.output() != (&[], 0) || current.connection.ending().is_some()
                {
                    continue;
                }
            }
            if !may_read || !self.slots[slot].connection.wants_more() {
                return;
            }
        }
    }

    /// Sends what can be sent; `false`: the connection is gone or its peer is slow.
    fn flush(&mut self, slot: usize) -> bool {
        loop {
            let current = &mut self.slots[slot];
            let Some(socket) = current.socket.as_ref() else { return false };
            let (bytes, fill) = current.connection.output();
            if bytes.is_empty() && fill == 0 {
                if let Some(ending) = current.connection.ending() {
                    self.close(slot, ending);
                    return false;
                }
                return true;
            }
            let fill = self.filler.len().min(usize::try_from(fill).unwrap_or(usize::MAX));
            let parts = [IoSlice::new(bytes), IoSlice::new(&self.filler[..fill])];
            match writev(socket, &parts) {
                Ok(sent) => current.connection.wrote(sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                Err(_) => {
                    self.close(slot, Ending::Close);
                    return false;
                }
            }
        }
    }

    fn close(&mut self, slot: usize, ending: Ending) {
        let current = &mut self.slots[slot];
        if let Some(socket) = current.socket.take() {
            if ending == Ending::Reset {
                let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
            }
            current.connection = Connection::Echo(Echo::default());
            self.free.push(slot);
        }
    }

    fn watch_idle(&mut self, slot: usize) {
        let current = &self.slots[slot];
        if let (Some(after), Some(_)) = (self.idle_close, &current.socket) {
            self.wakes.push(Reverse((current.last + after, slot, current.serial)));
        }
    }

    /// Answers what was delayed and closes what was idle for too long.
    fn wake(&mut self) {
        let time = now();
        while let Some(Reverse((at, slot, serial))) = self.wakes.peek().copied()
            && at <= time
        {
            self.wakes.pop();
            let current = &mut self.slots[slot];
            if current.serial != serial || current.socket.is_none() {
                continue;
            }
            if current.connection.wake_at().is_some_and(|at| at <= time) {
                current.last = time;
                current.connection.received(&[], &mut self.site, time);
                self.drive(slot, false, false);
            } else if let Some(after) = self.idle_close {
                let since = current.last + after;
                if current.connection.is_idle() && since <= time {
                    self.close(slot, Ending::Close);
                } else {
                    self.wakes.push(Reverse((since.max(time + IDLE_RETRY), slot, serial)));
                }
            }
        }
    }
}

/// Lets connections come.
pub fn listen(socket: &OwnedFd) -> Result<(), Errno> {
    rustix::net::listen(socket, 4_096)
}

const LISTENER: u64 = u64::MAX - 2;
/// Connections accepted before others are served again.
const ACCEPTS: usize = 64;
/// One hot buffer for what is read.
const SCRATCH: usize = 128 * 1024;
/// When a connection was busy as its idle time ended, it is looked at again so much later.
const IDLE_RETRY: Duration = Duration::from_millis(5);
