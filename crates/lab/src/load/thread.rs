//! The sockets of one load thread: performs the engine's actions and reports events to it.
//!
//! It makes no decision about requests.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use rustix::time::{ClockId, clock_gettime};

use super::action::SocketAction;
use super::client::PeerClose;
use super::dial::{StartedConnect, classify_connect_error, start_connect};
use super::engine::LoadEngine;
use super::fail::FailureCause;
use super::plan::{ClosingSide, ConnectionReuse, LoadModel, LoadPlan};
use super::tally::{LoadTally, duration_nanos};
use super::tls::TargetTlsSession;
use crate::poller::{Poller, SocketReadiness, now};

/// The state of a thread that other threads can read.
#[derive(Debug)]
pub struct ThreadProgress {
    /// The counts, at most a tenth of a second old.
    pub tally: Mutex<LoadTally>,
    /// Nanoseconds of processor time that the thread has used, without its busy waiting.
    pub cpu_nanos: AtomicU64,
    /// Set when no further request may start.
    pub stop: Arc<AtomicBool>,
}

/// A socket with bytes to send, waiting for its turn.
#[derive(Clone, Copy, Debug)]
struct PendingFlush {
    slot: usize,
    /// The socket's serial number when it was queued.
    serial: u32,
    since: MonotonicTime,
}

#[derive(Debug)]
pub struct LoadThread {
    plan: Arc<LoadPlan>,
    engine: LoadEngine,
    poller: Poller,
    sockets: Vec<LoadSocket>,
    /// Open loop: sockets with bytes to send.
    outgoing: VecDeque<PendingFlush>,
    /// Nanoseconds of busy waiting.
    last_poll: u64,
    /// Connections started; selects source addresses in turn.
    connects: usize,
    shared: Arc<ThreadProgress>,
    scratch: Box<[u8]>,
    plaintext: Vec<u8>,
}

#[derive(Debug, Default)]
struct LoadSocket {
    fd: Option<OwnedFd>,
    tls: Option<TargetTlsSession>,
    /// Number of this slot's socket; part of the event token, so that events of a closed socket are recognised.
    serial: u32,
}

impl LoadThread {
    pub fn new(
        plan: Arc<LoadPlan>,
        engine: LoadEngine,
        poller: Poller,
        shared: Arc<ThreadProgress>,
    ) -> LoadThread {
        let sockets = (0..plan.connections()).map(|_| LoadSocket::default()).collect();
        let scratch = vec![0; SCRATCH].into();
        LoadThread {
            plan,
            engine,
            poller,
            sockets,
            outgoing: VecDeque::new(),
            last_poll: 0,
            connects: 0,
            shared,
            scratch,
            plaintext: Vec::new(),
        }
    }

    /// Runs until the engine has finished.
    pub fn run(mut self) -> Result<(), Errno> {
        let mut ready: Vec<SocketReadiness> = Vec::new();
        let mut publish_at = MonotonicTime(0);
        let open = matches!(self.plan.pace, LoadModel::Open { .. });
        loop {
            let time = now();
            if self.shared.stop.load(Ordering::Relaxed) {
                self.engine.stop(time);
            }
            self.engine.run_due(time);
            let acted = self.run_actions();
            if time >= publish_at {
                self.publish();
                publish_at = time + PUBLISH_EVERY;
            }
            if self.engine.is_finished(time) {
                self.publish();
                return Ok(());
            }
            let due = self.engine.next_deadline().min(publish_at);
            let until = match self.outgoing.is_empty() {
                true if open => MonotonicTime(due.0.saturating_sub(SPIN)),
                true => due,
                false => time,
            };
            self.poller.wait(until, &mut ready)?;
            if until <= time && due > time && !acted && ready.is_empty() {
                self.last_poll += duration_nanos(now().since(time)).min(SPIN);
            }
            for event in &ready {
                self.handle_event(*event);
                // An open loop reads all responses before it sends, so that sending does not delay a response's
                // timestamp.
                if !open {
                    self.run_actions();
                }
            }
        }
    }

    fn publish(&self) {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let used = seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0);
        self.shared.cpu_nanos.store(used.saturating_sub(self.last_poll), Ordering::Relaxed);
        let mut shared = self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner);
        shared.clone_from(self.engine.tally());
    }

    /// Performs the engine's actions; returns whether there were any. An open loop sends at most `AT_ONCE` requests
    /// before it reads responses again.
    fn run_actions(&mut self) -> bool {
        let mut left = AT_ONCE;
        let mut acted = false;
        loop {
            while let Some(action) = self.engine.next_action() {
                self.perform_action(action);
                acted = true;
            }
            if left == 0 || !self.send_next() {
                return acted || left < AT_ONCE;
            }
            left -= 1;
        }
    }

    fn perform_action(&mut self, action: SocketAction) {
        if let SocketAction::Flush(slot) = action {
            match self.plan.pace {
                LoadModel::Open { .. } => {
                    let serial = self.sockets[slot].serial;
                    self.outgoing.push_back(PendingFlush { slot, serial, since: now() });
                }
                LoadModel::Closed { .. } => self.flush(slot),
            }
            return;
        }
        // Earlier output is sent before any other action.
        while self.send_next() {}
        match action {
            SocketAction::Connect(slot) => self.connect(slot),
            SocketAction::Flush(_) => {}
            SocketAction::Read(slot) => self.read(slot, true),
            SocketAction::Close(slot) => self.close(slot),
        }
    }

    /// Sends the bytes of the next socket; `false`: the queue is empty.
    fn send_next(&mut self) -> bool {
        let Some(PendingFlush { slot, serial, since }) = self.outgoing.pop_front() else {
            return false;
        };
        if self.sockets[slot].serial == serial {
            self.engine.record_send_delay(now().since(since));
            self.flush(slot);
        }
        true
    }

    fn close(&mut self, slot: usize) {
        let socket = &mut self.sockets[slot];
        socket.tls = None;
        if let Some(fd) = socket.fd.take()
            && self.plan.persist == ConnectionReuse::ClosedBy(ClosingSide::Reset)
        {
            // A linger time of zero makes the close a reset. If the kernel rejects the option, the close is a normal
            // one.
            let _ = sockopt::set_socket_linger(&fd, Some(Duration::ZERO));
        }
    }

    fn handle_event(&mut self, event: SocketReadiness) {
        let slot = (event.token & u64::from(u32::MAX)) as usize;
        let socket = &self.sockets[slot];
        let Some(fd) = socket.fd.as_ref() else { return };
        if u64::from(socket.serial) != event.token >> 32 {
            return;
        }
        if self.engine.is_connecting(slot) && socket.tls.is_none() {
            if !event.writable {
                return;
            }
            match sockopt::socket_error(fd).and_then(|error| error) {
                Ok(()) => self.on_established(slot),
                Err(error) => {
                    return self.engine.on_connect_failed(
                        slot,
                        classify_connect_error(error),
                        now(),
                    );
                }
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
        self.connects += 1;
        match start_connect(&self.plan, self.connects) {
            Ok(StartedConnect { fd, established }) => {
                let added = self.poller.add(&fd, token);
                socket.fd = Some(fd);
                match added {
                    Ok(()) if established => self.on_established(slot),
                    Ok(()) => {}
                    Err(_) => self.engine.on_connect_failed(slot, FailureCause::NoResource, now()),
                }
            }
            Err(error) => self.engine.on_connect_failed(slot, classify_connect_error(error), now()),
        }
    }

    /// The TCP connection is established: requests or the TLS handshake can start.
    fn on_established(&mut self, slot: usize) {
        let Some(secure) = &self.plan.secure else { return self.engine.on_connected(slot, now()) };
        match secure.session() {
            Ok(session) => {
                self.sockets[slot].tls = Some(session);
                self.flush(slot);
            }
            Err(_) => self.engine.on_connect_failed(slot, FailureCause::Tls, now()),
        }
    }

    fn flush(&mut self, slot: usize) {
        if self.sockets[slot].tls.is_some() {
            return self.flush_tls(slot);
        }
        while let Some(fd) = self.sockets[slot].fd.as_ref() {
            let pending = self.engine.pending(slot);
            if pending.is_empty() {
                return;
            }
            match send(fd, pending, SendFlags::NOSIGNAL) {
                Ok(sent) => self.engine.on_written(slot, sent, now()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // A datagram socket reports an error once, and later reads do not show it.
                Err(error) if self.plan.datagrams => {
                    return self.engine.on_connect_failed(
                        slot,
                        classify_connect_error(error),
                        now(),
                    );
                }
                // A response may have arrived before the close; reading finds it first, then the close.
                Err(_) => return self.read(slot, true),
            }
        }
    }

    fn flush_tls(&mut self, slot: usize) {
        loop {
            let LoadSocket { fd: Some(fd), tls: Some(tls), .. } = &mut self.sockets[slot] else {
                return;
            };
            let records = match tls.pending() {
                Ok([]) => {
                    let pending = self.engine.pending(slot);
                    match tls.write(pending) {
                        Ok(0) | Err(_) => return,
                        Ok(written) => self.engine.on_written(slot, written, now()),
                    }
                    continue;
                }
                Ok(records) => records,
                Err(_) => return self.fail_tls(slot),
            };
            match send(fd, records, SendFlags::NOSIGNAL) {
                Ok(sent) => tls.on_written(sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => return self.read(slot, true),
            }
        }
    }

    fn fail_tls(&mut self, slot: usize) {
        // The slot may get a new request before this socket is closed, so later bytes of the socket must not reach the
        // engine.
        self.sockets[slot].tls = None;
        self.engine.on_connect_failed(slot, FailureCause::Tls, now());
    }

    /// Reads until the kernel has no more bytes. `to_the_end`: continues after a read that did not fill the buffer.
    fn read(&mut self, slot: usize, to_the_end: bool) {
        let serial = self.sockets[slot].serial;
        // A datagram rarely fills the buffer, so a short read does not mean that no further one waits.
        let to_the_end = to_the_end || self.plan.datagrams;
        while let Some(fd) = self.sockets[slot].fd.as_ref()
            && self.sockets[slot].serial == serial
        {
            let handshaking =
                self.sockets[slot].tls.as_ref().is_some_and(TargetTlsSession::is_handshaking);
            let most =
                if handshaking { SCRATCH } else { self.engine.readable_bytes(slot, SCRATCH) };
            if most == 0 {
                return;
            }
            match recv(fd, &mut self.scratch[..most], RecvFlags::empty()) {
                // Must return here: the socket is closed later, and another read would only see the same end again.
                Ok((0, _)) if handshaking => return self.fail_tls(slot),
                Ok((0, _)) => self.engine.on_peer_end(slot, PeerClose::Closed, now()),
                Ok((bytes, _)) => {
                    self.on_received(slot, bytes);
                    if bytes < most && !to_the_end {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) if handshaking => return self.fail_tls(slot),
                Err(error) if self.plan.datagrams => {
                    self.engine.on_connect_failed(slot, classify_connect_error(error), now());
                }
                Err(_) => self.engine.on_peer_end(slot, PeerClose::Reset, now()),
            }
        }
    }

    /// Processes the first `bytes` bytes of the scratch buffer.
    fn on_received(&mut self, slot: usize, bytes: usize) {
        let Some(tls) = &mut self.sockets[slot].tls else {
            return self.engine.on_received(slot, &self.scratch[..bytes], now());
        };
        let handshaking = tls.is_handshaking();
        self.plaintext.clear();
        if tls.read(&self.scratch[..bytes], &mut self.plaintext).is_err() {
            return self.fail_tls(slot);
        }
        let established = handshaking && !tls.is_handshaking();
        if established && self.plan.http2 && tls.protocol() != Some(b"h2") {
            return self.engine.on_connect_failed(slot, FailureCause::NoHttp2, now());
        }
        if established {
            self.engine.on_connected(slot, now());
        }
        if handshaking {
            self.flush_tls(slot);
        }
        if !self.plaintext.is_empty() {
            self.engine.on_received(slot, &self.plaintext, now());
        }
    }
}

/// Receive buffer, shared by all connections of a thread so that it stays in the cache.
/// As large as a receive buffer is by default (net.ipv4.tcp_rmem).
const SCRATCH: usize = 128 * 1024;
/// Open-loop requests that are sent on established connections before responses are read again. Each send delays the
/// timestamp of a waiting response.
const AT_ONCE: usize = 8;
/// Nanoseconds before a deadline at which a thread stops sleeping and busy-waits, because a processor resumes late
/// after a sleep.
const SPIN: u64 = 20_000;
/// Ten times for each second of output.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);
