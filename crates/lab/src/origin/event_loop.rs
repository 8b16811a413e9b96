//! The sockets and clock of one origin, and its commands while running.
//!
//! `http` decides the responses.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use rustix::io::{Errno, writev};
use rustix::net::{RecvFlags, SocketFlags, accept_with, recv, sockopt};

use super::connection::OriginConnection;
use super::content::{FILLER, OriginContent, OriginFault};
use super::counts::OriginCounters;
use super::echo::EchoConnection;
use super::http::{CloseMode, HttpOriginConnection};
use super::options::{OriginKind, OriginOptions};
use super::timer::OriginTimer;
use crate::poller::{Poller, SocketReadiness, now};
use crate::port::bind_socket;

/// The kernel's result of a command.
type CommandReply = SyncSender<Result<(), Errno>>;

/// A command to an origin.
pub enum OriginCommand {
    /// Stop listening and reset all connections.
    Kill {
        done: CommandReply,
    },
    Revive {
        done: CommandReply,
    },
    /// Stop or resume all work.
    Hang {
        hang: bool,
        done: CommandReply,
    },
    Fault {
        fault: Option<OriginFault>,
        done: CommandReply,
    },
    IdleClose {
        after: Option<Duration>,
        done: CommandReply,
    },
    Stop,
}

#[derive(Debug)]
pub struct OriginThread {
    kind: OriginKind,
    site: OriginContent,
    address: SocketAddr,
    listener: Option<OwnedFd>,
    /// While killed: holds the port, so that no other process binds it.
    reserved: Option<OwnedFd>,
    poller: Poller,
    inbox: Receiver<OriginCommand>,
    counts: Arc<OriginCounters>,
    slots: Vec<OriginSlot>,
    free: Vec<usize>,
    wakes: BinaryHeap<Reverse<OriginTimer>>,
    idle_close: Option<Duration>,
    hung: bool,
    scratch: Box<[u8]>,
    filler: Box<[u8]>,
}

#[derive(Debug)]
struct OriginSlot {
    socket: Option<OwnedFd>,
    connection: OriginConnection,
    serial: u32,
    last: MonotonicTime,
}

impl OriginThread {
    pub fn new(
        options: OriginOptions,
        address: SocketAddr,
        listener: OwnedFd,
        poller: Poller,
        inbox: Receiver<OriginCommand>,
        counts: Arc<OriginCounters>,
    ) -> Result<OriginThread, Errno> {
        let body = match options.kind {
            // A gibibyte: a larger length is a mistake of unit.
            OriginKind::Http { body } => body.min(1 << 30),
            OriginKind::Echo => 0,
        };
        poller.add_listener(&listener, LISTENER)?;
        Ok(OriginThread {
            kind: options.kind,
            site: OriginContent::new(&options.name, body, options.request_log),
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

    /// Runs until the stop command.
    pub fn run(mut self) {
        let mut ready: Vec<SocketReadiness> = Vec::new();
        loop {
            let due = match self.wakes.peek() {
                Some(Reverse(timer)) if !self.hung => timer.due,
                _ => MonotonicTime::NEVER,
            };
            if self.poller.wait(due, &mut ready).is_err() || !self.handle_commands() {
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
                        self.serve_slot(slot, event.readable, event.ended);
                    }
                }
            }
            self.run_timers();
            self.counts.requests.store(self.site.requests, Ordering::Relaxed);
            let open = self.slots.len() - self.free.len();
            self.counts.open.store(open as u64, Ordering::Relaxed);
        }
    }

    fn handle_commands(&mut self) -> bool {
        while let Ok(order) = self.inbox.try_recv() {
            let (outcome, done) = match order {
                OriginCommand::Stop => return false,
                OriginCommand::Kill { done } => (self.kill(), done),
                OriginCommand::Revive { done } => (self.revive(), done),
                OriginCommand::Hang { hang, done } => (self.set_hung(hang), done),
                OriginCommand::Fault { fault, done } => {
                    self.site.fault = fault;
                    (Ok(()), done)
                }
                OriginCommand::IdleClose { after, done } => {
                    self.idle_close = after;
                    (0..self.slots.len()).for_each(|slot| self.arm_idle_timer(slot));
                    (Ok(()), done)
                }
            };
            // Fails only if the caller has gone, which needs no answer.
            let _ = done.send(outcome);
        }
        true
    }

    fn kill(&mut self) -> Result<(), Errno> {
        if let Some(listener) = self.listener.take() {
            sockopt::set_socket_reuseport(&listener, true)?;
            let reserved = bind_socket(self.address, true)?;
            // Without these two options no other process can bind the port.
            sockopt::set_socket_reuseport(&reserved, false)?;
            sockopt::set_socket_reuseaddr(&reserved, false)?;
            self.reserved = Some(reserved);
        }
        (0..self.slots.len()).for_each(|slot| self.close(slot, CloseMode::Reset));
        self.counts.open.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn revive(&mut self) -> Result<(), Errno> {
        self.hung = false;
        if let Some(reserved) = self.reserved.take() {
            sockopt::set_socket_reuseaddr(&reserved, true)?;
            start_listening(&reserved)?;
            self.poller.add_listener(&reserved, LISTENER)?;
            self.listener = Some(reserved);
        }
        Ok(())
    }

    fn set_hung(&mut self, hang: bool) -> Result<(), Errno> {
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
            (0..self.slots.len()).for_each(|slot| self.serve_slot(slot, true, true));
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
            // Without TCP_NODELAY answers may be late; a measurement shows it, and the origin still works.
            let _ = sockopt::set_tcp_nodelay(&socket, true);
            let connection = match self.kind {
                OriginKind::Http { .. } => {
                    OriginConnection::Http(Box::new(HttpOriginConnection::new()))
                }
                OriginKind::Echo => OriginConnection::Echo(EchoConnection::default()),
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
            let new = OriginSlot { socket: Some(socket), connection, serial, last: now() };
            match self.slots.get_mut(slot) {
                Some(old) => *old = new,
                None => self.slots.push(new),
            }
            self.counts.accepted.fetch_add(1, Ordering::Relaxed);
            self.arm_idle_timer(slot);
            // The request has often arrived already; its event would only come with the next wait.
            self.serve_slot(slot, true, false);
        }
    }

    /// Reads, responds and sends until the socket or the connection cannot continue.
    fn serve_slot(&mut self, slot: usize, readable: bool, to_the_end: bool) {
        let mut may_read = readable;
        loop {
            let current = &mut self.slots[slot];
            let Some(socket) = current.socket.as_ref() else { return };
            if may_read && current.connection.wants_more() {
                match recv(socket, &mut self.scratch[..], RecvFlags::empty()) {
                    Ok((0, _)) if current.connection.on_peer_end() => may_read = false,
                    Ok((0, _)) => return self.close(slot, CloseMode::Close),
                    Ok((bytes, _)) => {
                        may_read = bytes == self.scratch.len() || to_the_end;
                        let time = now();
                        current.last = time;
                        current.connection.on_received(
                            &self.scratch[..bytes],
                            &mut self.site,
                            time,
                        );
                    }
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => may_read = false,
                    Err(_) => return self.close(slot, CloseMode::Close),
                }
            }
            if !self.flush(slot) {
                return;
            }
            let current = &mut self.slots[slot];
            if let Some(due) = current.connection.wake_at() {
                self.wakes.push(Reverse(OriginTimer { due, slot, serial: current.serial }));
            }
            if current.connection.has_input() {
                current.connection.on_received(&[], &mut self.site, now());
                if !current.connection.output().is_empty() || current.connection.ending().is_some()
                {
                    continue;
                }
            }
            if !may_read || !self.slots[slot].connection.wants_more() {
                return;
            }
        }
    }

    /// Sends pending bytes; `false`: the connection is closed or its peer is slow.
    fn flush(&mut self, slot: usize) -> bool {
        loop {
            let current = &mut self.slots[slot];
            let Some(socket) = current.socket.as_ref() else { return false };
            let output = current.connection.output();
            if output.is_empty() {
                if let Some(ending) = current.connection.ending() {
                    self.close(slot, ending);
                    return false;
                }
                return true;
            }
            let fill = self.filler.len().min(usize::try_from(output.fill).unwrap_or(usize::MAX));
            let parts = [IoSlice::new(output.bytes), IoSlice::new(&self.filler[..fill])];
            match writev(socket, &parts) {
                Ok(sent) => current.connection.on_written(sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                Err(_) => {
                    self.close(slot, CloseMode::Close);
                    return false;
                }
            }
        }
    }

    fn close(&mut self, slot: usize, ending: CloseMode) {
        let current = &mut self.slots[slot];
        if let Some(socket) = current.socket.take() {
            if ending == CloseMode::Reset {
                // Without it the close is an ordinary one, which the test that wanted a reset notices.
                let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
            }
            current.connection = OriginConnection::Echo(EchoConnection::default());
            self.free.push(slot);
        }
    }

    fn arm_idle_timer(&mut self, slot: usize) {
        let current = &self.slots[slot];
        if let (Some(after), Some(_)) = (self.idle_close, &current.socket) {
            let due = current.last + after;
            self.wakes.push(Reverse(OriginTimer { due, slot, serial: current.serial }));
        }
    }

    /// Sends delayed responses and closes idle connections.
    fn run_timers(&mut self) {
        let time = now();
        while let Some(Reverse(OriginTimer { due, slot, serial })) = self.wakes.peek().copied()
            && due <= time
        {
            self.wakes.pop();
            let current = &mut self.slots[slot];
            if current.serial != serial || current.socket.is_none() {
                continue;
            }
            if current.connection.wake_at().is_some_and(|at| at <= time) {
                current.last = time;
                current.connection.on_received(&[], &mut self.site, time);
                self.serve_slot(slot, false, false);
            } else if let Some(after) = self.idle_close {
                let since = current.last + after;
                if current.connection.is_idle() && since <= time {
                    self.close(slot, CloseMode::Close);
                } else {
                    let due = since.max(time + IDLE_RETRY);
                    self.wakes.push(Reverse(OriginTimer { due, slot, serial }));
                }
            }
        }
    }
}

pub fn start_listening(socket: &OwnedFd) -> Result<(), Errno> {
    // The default of net.core.somaxconn since Linux 5.4, which caps a larger number.
    rustix::net::listen(socket, 4_096)
}

/// Tokens count connections from 0; the highest numbers belong to the poller's own descriptors.
const LISTENER: u64 = u64::MAX - 2;
/// Connections accepted in a row before others are served: keeps the others responsive.
const ACCEPTS: usize = 64;
/// Buffer for received bytes, shared by all connections so that it stays in the cache.
/// As large as a receive buffer is by default (net.ipv4.tcp_rmem).
const SCRATCH: usize = 128 * 1024;
/// When a connection was busy at its idle timeout, it is checked again after this time.
/// Short beside the idle timeouts under test.
const IDLE_RETRY: Duration = Duration::from_millis(5);
