//! One QUIC connection from the perspective of its streams: reads, bounded writes and ends. Also the state that its
//! driver reads.
//!
//! `quinn-proto` buffers as much as its windows allow. Further bytes are buffered here, up to a small limit per stream,
//! so a writer first checks the available space. The driver sends the packets.

mod send_times;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{Connection, ConnectionEvent, ConnectionHandle, Dir, ReadError, StreamId};
use quinn_proto::{Transmit, VarInt, WriteError};

use self::send_times::SendTimes;
use super::congestion_control;
use super::path::{OutgoingPackets, ValidatedPath};
use crate::tls::handshake_observation::{self, HandshakeObservation};

/// Most unsent bytes of one stream in the buffer.
/// With `http3.streams`, the bound that the documentation names for a connection.
pub const MAX_UNSENT: usize = 16 * 1024;

/// The result of a read.
#[derive(Debug)]
pub enum QuicReadResult {
    Bytes(Bytes),
    Pending,
    End,
    /// The client reset the stream, or the connection is gone.
    Broken,
}

/// A stream that is being served.
struct QuicStreamSlot {
    waker: Waker,
    unsent: Vec<u8>,
    finish_requested: bool,
    stopped: bool,
    reset_by_client: bool,
    /// No task serves the stream any longer.
    detached: bool,
}

pub struct QuicConnection {
    /// The connection's handle in the endpoint.
    pub handle: ConnectionHandle,
    conn: RefCell<Connection>,
    slots: RefCell<HashMap<StreamId, QuicStreamSlot>>,
    driver: OnceCell<Waker>,
    wake_pending: Cell<bool>,
    lost: Cell<bool>,
    close_code: Cell<Option<u64>>,
    handshake_observation: RefCell<HandshakeObservation>,
    path: RefCell<ValidatedPath>,
    /// Packets that were withheld because their destination is not validated.
    pub withheld: Cell<u64>,
    /// Requests that the client reset since the driver last checked.
    pub reset_requests: Cell<u32>,
    /// A datagram arrived since the driver last checked.
    pub stream_activity: Cell<bool>,
    /// Bytes that the streams buffer for the client.
    pub buffered: Rc<Cell<usize>>,
    pub open: Cell<u32>,
    pub send_times: Cell<SendTimes>,
}

impl QuicConnection {
    /// A newly accepted connection.
    pub fn new(
        handle: ConnectionHandle,
        conn: Connection,
        seen: HandshakeObservation,
    ) -> QuicConnection {
        let path = RefCell::new(ValidatedPath::new(conn.remote_address()));
        QuicConnection {
            handle,
            path,
            withheld: Cell::default(),
            conn: RefCell::new(conn),
            slots: RefCell::default(),
            driver: OnceCell::new(),
            wake_pending: Cell::new(false),
            lost: Cell::new(false),
            close_code: Cell::new(None),
            handshake_observation: RefCell::new(seen),
            reset_requests: Cell::default(),
            stream_activity: Cell::default(),
            buffered: Rc::default(),
            open: Cell::default(),
            send_times: Cell::default(),
        }
    }

    pub fn set_driver(&self, waker: Waker) {
        let _ = self.driver.set(waker); // Set once, so it cannot fail.
    }

    /// Wakes the driver: there is something to send or to do.
    pub fn wake_driver(&self) {
        if !self.wake_pending.replace(true)
            && let Some(driver) = self.driver.get()
        {
            driver.wake_by_ref();
        }
    }

    /// Starts the driver's turn, during which it need not be woken.
    pub fn begin_turn(&self) {
        self.wake_pending.set(true);
    }

    /// Ends the driver's turn.
    pub fn end_turn(&self) {
        self.wake_pending.set(false);
    }

    /// Access to the library's connection, only for the driver. `look` must not call another method of this connection.
    pub fn with_connection<T>(&self, look: impl FnOnce(&mut Connection) -> T) -> T {
        look(&mut self.conn.borrow_mut())
    }

    /// Processes a datagram for the connection.
    pub fn handle_datagram(&self, event: ConnectionEvent, from: SocketAddr, bytes: usize) {
        self.path.borrow_mut().received_from(from, bytes);
        self.stream_activity.set(true);
        let mut conn = self.conn.borrow_mut();
        let shaking = conn.is_handshaking();
        if shaking {
            handshake_observation::begin_step(&self.handshake_observation.borrow());
        }
        conn.handle_event(event);
        if shaking {
            *self.handshake_observation.borrow_mut() = handshake_observation::end_step();
        }
        drop(conn);
        self.wake_driver();
    }

    /// The client's last validated address: a packet from a new address alone does not change it.
    pub fn peer(&self) -> SocketAddr {
        self.path.borrow().validated()
    }

    /// The next packets to send; `buffer` is cleared for them.
    pub fn next_packets(
        &self,
        now: Instant,
        at_once: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let mut conn = self.conn.borrow_mut();
        let mut path = self.path.borrow_mut();
        loop {
            buffer.clear();
            // The statistics are read only while the client's path may be changing.
            let current = conn.remote_address();
            let before = (current != path.validated()).then(|| conn.stats());
            let transmit = conn.poll_transmit(now, at_once, buffer)?;
            let changed = before.map(|before| (before, conn.stats()));
            let packets = OutgoingPackets {
                to: transmit.destination,
                bytes: transmit.size,
                current: transmit.destination == current,
                challenges: changed.is_none_or(|(before, after)| {
                    after.frame_tx.path_challenge != before.frame_tx.path_challenge
                }),
                ordinary: !conn.is_handshaking()
                    && !conn.is_closed()
                    && changed.is_some_and(|(before, after)| {
                        after.path.sent_plpmtud_probes == before.path.sent_plpmtud_probes
                    }),
            };
            if path.may_send(&packets) {
                return Some(transmit);
            }
            self.withheld.set(self.withheld.get() + 1);
        }
    }

    /// Identifies the TLS session over all connections that resume it.
    pub fn lineage(&self) -> Option<u64> {
        self.handshake_observation.borrow().lineage
    }

    /// Whether the client resumed a session with a valid ticket.
    pub fn continues(&self) -> bool {
        self.handshake_observation.borrow().resumes_session
    }

    /// Requests that the connection is closed with this error code.
    pub fn request_close(&self, code: u64) {
        if self.close_code.get().is_none() {
            self.close_code.set(Some(code));
            self.wake_driver();
        }
    }

    /// The error code to close the connection with, if requested.
    pub fn close_code(&self) -> Option<u64> {
        self.close_code.get()
    }

    /// Handles a lost connection: wakes every stream, and releases a withheld CONNECTION_CLOSE.
    pub fn mark_lost(&self) {
        self.lost.set(true);
        congestion_control::release_withheld(&self.conn.borrow());
        self.slots.borrow().values().for_each(|slot| slot.waker.wake_by_ref());
    }

    /// Opens a unidirectional stream; `None`: the client allows none.
    pub fn open_unidirectional(&self) -> Option<StreamId> {
        self.conn.borrow_mut().streams().open(Dir::Uni)
    }

    /// The next stream that the client has opened.
    pub fn accept(&self, dir: Dir) -> Option<StreamId> {
        self.conn.borrow_mut().streams().accept(dir)
    }

    /// The task of this waker serves the stream from now on.
    pub fn attach(&self, id: StreamId, waker: Waker) {
        let mut slots = self.slots.borrow_mut();
        if let Some(slot) = slots.get_mut(&id) {
            slot.waker = waker;
            return;
        }
        let slot = QuicStreamSlot {
            waker,
            unsent: Vec::new(),
            finish_requested: false,
            stopped: false,
            reset_by_client: false,
            detached: false,
        };
        slots.insert(id, slot);
    }

    /// No task serves the stream from now on. Its unsent bytes are still sent if its end was written.
    pub fn detach(&self, id: StreamId) {
        let mut slots = self.slots.borrow_mut();
        if let Some(slot) = slots.get_mut(&id) {
            match slot.finish_requested && !slot.unsent.is_empty() {
                true => slot.detached = true,
                false => drop(slots.remove(&id)),
            }
        }
    }

    /// Reads at most `most` bytes.
    pub fn read(&self, id: StreamId, most: usize) -> QuicReadResult {
        let mut conn = self.conn.borrow_mut();
        let mut stream = conn.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return QuicReadResult::Broken };
        let next = chunks.next(most);
        let more_room = chunks.finalize().should_transmit();
        drop(conn);
        if more_room {
            self.wake_driver();
        }
        match next {
            Ok(Some(chunk)) => QuicReadResult::Bytes(chunk.bytes),
            Ok(None) => QuicReadResult::End,
            Err(ReadError::Blocked) if !self.lost.get() => QuicReadResult::Pending,
            Err(ReadError::Blocked) => QuicReadResult::Broken,
            Err(ReadError::Reset(_)) => {
                self.count_reset_request(id);
                QuicReadResult::Broken
            }
        }
    }

    /// How many bytes may be written now. 0: the task is woken when that changes, or the stream is gone.
    pub fn write_room(&self, id: StreamId) -> usize {
        let slots = self.slots.borrow();
        slots.get(&id).map_or(0, |slot| if slot.unsent.is_empty() { MAX_UNSENT } else { 0 })
    }

    /// Whether bytes of a stream wait here.
    pub fn has_unsent(&self) -> bool {
        self.slots.borrow().values().any(|slot| !slot.unsent.is_empty())
    }

    /// Whether the client no longer reads the stream.
    pub fn is_gone(&self, id: StreamId) -> bool {
        self.lost.get() || self.slots.borrow().get(&id).is_none_or(|slot| slot.stopped)
    }

    /// Writes all bytes; those that quinn-proto does not accept are buffered.
    pub fn write(&self, id: StreamId, bytes: &[u8]) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(&id) else { return };
        slot.unsent.extend_from_slice(bytes);
        self.write_unsent(id, slot);
        drop(slots);
        self.wake_driver();
    }

    /// Ends the sending direction after the written bytes.
    pub fn finish(&self, id: StreamId) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(&id) else { return };
        slot.finish_requested = true;
        self.write_unsent(id, slot);
        drop(slots);
        self.wake_driver();
    }

    /// Resets the sending direction, so that the client does not treat the stream as complete.
    pub fn reset(&self, id: StreamId, code: u64) {
        // This fails only for a stream that has already ended.
        let _ = self.conn.borrow_mut().send_stream(id).reset(number(code));
        self.slots.borrow_mut().remove(&id);
        self.wake_driver();
    }

    pub fn stop(&self, id: StreamId, code: u64) {
        // This fails only for a stream that was read to its end.
        let _ = self.conn.borrow_mut().recv_stream(id).stop(number(code));
        self.wake_driver();
    }

    pub fn close(&self, now: Instant, code: u64) {
        self.conn.borrow_mut().close(now, number(code), Bytes::new());
        self.wake_driver();
    }

    /// Bytes arrived on a stream: wakes its task.
    pub fn readable(&self, id: StreamId) {
        if let Some(slot) = self.slots.borrow().get(&id) {
            slot.waker.wake_by_ref();
        }
    }

    /// A stream may be written again: sends its buffered bytes and wakes its task.
    pub fn writable(&self, id: StreamId) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(&id) else { return };
        self.write_unsent(id, slot);
        match slot.detached && slot.unsent.is_empty() {
            true => drop(slots.remove(&id)),
            false => slot.waker.wake_by_ref(),
        }
    }

    /// The client refuses further bytes of a stream (STOP_SENDING).
    pub fn stopped(&self, id: StreamId) {
        if let Some(slot) = self.slots.borrow_mut().get_mut(&id) {
            slot.stopped = true;
            slot.unsent = Vec::new();
            slot.waker.wake_by_ref();
        }
        self.count_reset_request(id);
        self.slots.borrow_mut().retain(|other, slot| *other != id || !slot.detached);
    }

    fn count_reset_request(&self, id: StreamId) {
        if let Some(slot) = self.slots.borrow_mut().get_mut(&id)
            && !std::mem::replace(&mut slot.reset_by_client, true)
        {
            self.reset_requests.set(self.reset_requests.get() + 1);
            self.wake_driver();
        }
    }

    fn write_unsent(&self, id: StreamId, slot: &mut QuicStreamSlot) {
        let mut conn = self.conn.borrow_mut();
        let mut given = 0;
        while given < slot.unsent.len() {
            match conn.send_stream(id).write(&slot.unsent[given..]) {
                Ok(n) => given += n,
                Err(WriteError::Blocked) => break,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    slot.stopped = true;
                    given = slot.unsent.len();
                }
            }
        }
        match given == slot.unsent.len() {
            true => slot.unsent = Vec::new(),
            false => drop(slot.unsent.drain(..given)),
        }
        if slot.finish_requested && slot.unsent.is_empty() && !slot.stopped {
            // This fails only for a stream that was stopped or has ended.
            let _ = conn.send_stream(id).finish();
        }
    }
}

fn number(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}
