//! The sockets of one load thread: carries out what the engine says and tells it what happened.
//!
//! It decides nothing about requests.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::moment::Moment;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
    sockopt,
};

use super::client::End;
use super::engine::{Action, Engine};
use super::fail::Fail;
use super::plan::{Plan, Reading};
use super::tally::Tally;
use crate::poller::{Poller, Ready, now};

/// What a thread shares with those who watch it.
#[derive(Debug)]
pub struct Shared {
    /// The counts as of at most a tenth of a second ago.
    pub tally: Mutex<Tally>,
    /// No request is to begin any more.
    pub stop: Arc<AtomicBool>,
}

/// One load thread.
#[derive(Debug)]
pub struct Thread {
    plan: Arc<Plan>,
    engine: Engine,
    poller: Poller,
    sockets: Vec<Socket>,
    shared: Arc<Shared>,
    scratch: Box<[u8]>,
}

#[derive(Debug, Default)]
struct Socket {
    fd: Option<OwnedFd>,
    /// Counts the sockets of this slot; part of the token, so that events of a closed one are recognised.
    serial: u32,
}

impl Thread {
    /// Ready to run.
    pub fn new(plan: Arc<Plan>, engine: Engine, poller: Poller, shared: Arc<Shared>) -> Thread {
        let sockets = (0..plan.connections()).map(|_| Socket::default()).collect();
        Thread { plan, engine, poller, sockets, shared, scratch: vec![0; SCRATCH].into() }
    }

    /// Runs until the engine has finished.
    pub fn run(mut self) -> Result<(), Errno> {
        let mut ready: Vec<Ready> = Vec::new();
        let mut publish_at = Moment(0);
        loop {
            let time = now();
            if self.shared.stop.load(Ordering::Relaxed) {
                self.engine.stop(time);
            }
            self.engine.tick(time);
            self.act();
            if time >= publish_at {
                self.publish();
                publish_at = time + PUBLISH_EVERY;
            }
            if self.engine.is_finished(time) {
                self.publish();
                return Ok(());
            }
            let due = self.engine.next_due().min(publish_at);
            self.poller.wait(due, &mut ready)?;
            for event in &ready {
                self.handle(*event);
                self.act();
            }
        }
    }

    fn publish(&self) {
        let mut shared = self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner);
        shared.clone_from(self.engine.tally());
    }

    fn act(&mut self) {
        while let Some(action) = self.engine.action() {
            match action {
                Action::Connect(slot) => self.connect(slot),
                Action::Flush(slot) => self.flush(slot),
                Action::Read(slot) => self.read(slot, true),
                Action::Close(slot) => {
                    self.sockets[slot].fd = None;
                }
            }
        }
    }

    fn handle(&mut self, event: Ready) {
        let slot = (event.token & u64::from(u32::MAX)) as usize;
        let socket = &self.sockets[slot];
        let Some(fd) = socket.fd.as_ref() else { return };
        if u64::from(socket.serial) != event.token >> 32 {
            return;
        }
        if self.engine.is_connecting(slot) {
            if !event.writable {
                return;
            }
            match sockopt::socket_error(fd).and_then(|error| error) {
                Ok(()) => self.engine.connected(slot),
                Err(error) => return self.engine.connect_failed(slot, connect_fail(error), now()),
            }
        } else if event.writable {
            self.flush(slot);
        }
        if event.readable {
            self.read(slot, event.ended);
        }
    }

    fn connect(&mut self, slot: usize) {
        let socket = &mut self.sockets[slot];
        socket.serial = socket.serial.wrapping_add(1);
        let token = u64::from(socket.serial) << 32 | slot as u64;
        match open(&self.plan) {
            Ok((fd, established)) => {
                let added = self.poller.add(&fd, token);
                socket.fd = Some(fd);
                match added {
                    Ok(()) if established => self.engine.connected(slot),
                    Ok(()) => {}
                    Err(_) => self.engine.connect_failed(slot, Fail::NoResource, now()),
                }
            }
            Err(error) => self.engine.connect_failed(slot, connect_fail(error), now()),
        }
    }

    fn flush(&mut self, slot: usize) {
        while let Some(fd) = self.sockets[slot].fd.as_ref() {
            let pending = self.engine.pending(slot);
            if pending.is_empty() {
                return;
            }
            match send(fd, pending, SendFlags::NOSIGNAL) {
                Ok(sent) => self.engine.wrote(slot, sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // An answer may have come before the end: reading finds it, then the end.
                Err(_) => return self.read(slot, true),
            }
        }
    }

    /// Reads until the kernel has no more; `to_the_end`: also past a read that did not fill the buffer.
    fn read(&mut self, slot: usize, to_the_end: bool) {
        let serial = self.sockets[slot].serial;
        while let Some(fd) = self.sockets[slot].fd.as_ref()
            && self.sockets[slot].serial == serial
        {
            let most = self.engine.readable(slot, SCRATCH);
            if most == 0 {
                return;
            }
            match recv(fd, &mut self.scratch[..most], RecvFlags::empty()) {
                Ok((0, _)) => self.engine.ended(slot, End::Closed, now()),
                Ok((bytes, _)) => {
                    self.engine.received(slot, &self.scratch[..bytes], now());
                    if bytes < most && !to_the_end {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.engine.ended(slot, End::Reset, now()),
            }
        }
    }
}

/// A connection begun; `true`: and established.
fn open(plan: &Plan) -> Result<(OwnedFd, bool), Errno> {
    let target = plan.target;
    let family = if target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    if matches!(plan.reading, Reading::Slow { .. }) {
        sockopt::set_socket_recv_buffer_size(&fd, 1)?;
    }
    match connect(&fd, &target) {
        Ok(()) => Ok((fd, true)),
        Err(Errno::INPROGRESS) => Ok((fd, false)),
        Err(error) => Err(error),
    }
}

fn connect_fail(error: Errno) -> Fail {
    match error {
        Errno::CONNREFUSED => Fail::Refused,
        Errno::TIMEDOUT => Fail::ConnectTimeout,
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::ADDRNOTAVAIL => {
            Fail::NoResource
        }
        _ => Fail::Unreachable,
    }
}

/// One hot buffer a thread.
const SCRATCH: usize = 128 * 1024;
const PUBLISH_EVERY: Duration = Duration::from_millis(100);
