//! One QUIC connection as its streams see it: reads, bounded writes and ends; and the state that its driver reads.
//!
//! `quinn-proto` buffers as much as its windows allow. What it does not accept at once is held here, one small piece a
//! stream, so a writer asks for room first. Its driver sends the packets.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{Connection, ConnectionEvent, ConnectionHandle, Dir, ReadError, StreamId};
use quinn_proto::{Transmit, VarInt, WriteError};

use super::congestion_control;
use super::path::{OutgoingPackets, ValidatedPath};
use crate::tls::handshake_observation::{self, HandshakeObservation};

/// Bytes of one stream that may wait here.
pub const MAX_UNSENT: usize = 16 * 1024;

/// What a read gave.
#[derive(Debug)]
pub enum QuicReadResult {
    Bytes(Bytes),
    Pending,
    /// The end of the stream.
    End,
    /// The client took it back, or the connection is gone.
    Broken,
}

/// A stream that is being served.
struct QuicStreamSlot {
    waker: Waker,
    unsent: Vec<u8>,
    finish_requested: bool,
    stopped: bool,
    reset_by_client: bool,
    /// Nobody serves it any more.
    detached: bool,
}

pub struct QuicConnection {
    /// What the endpoint calls it.
    pub handle: ConnectionHandle,
    conn: RefCell<Connection>,
    slots: RefCell<HashMap<StreamId, QuicStreamSlot>>,
    driver: OnceCell<Waker>,
    wake_pending: Cell<bool>,
    lost: Cell<bool>,
    close_code: Cell<Option<u64>>,
    handshake_observation: RefCell<HandshakeObservation>,
    path: RefCell<ValidatedPath>,
    /// Packets that were not sent, since their addresses are not validated.
    pub withheld: Cell<u64>,
    /// Requests that the client reset since the driver last asked.
    pub reset_requests: Cell<u32>,
    /// A datagram came since the driver last asked.
    pub stream_activity: Cell<bool>,
    /// Bytes that its streams keep for the client.
    pub buffered: Rc<Cell<usize>>,
    pub open: Cell<u32>,
}

impl QuicConnection {
    /// A connection that was just accepted.
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
        }
    }

    pub fn set_driver(&self, waker: Waker) {
        let _ = self.driver.set(waker); // There is one for its whole life.
    }

    /// Lets the driver have a turn: there is something to be sent or to be done.
    pub fn wake_driver(&self) {
        if !self.wake_pending.replace(true)
            && let Some(driver) = self.driver.get()
        {
            driver.wake_by_ref();
        }
    }

    /// The driver has its turn: what happens in it needs no other one.
    pub fn begin_turn(&self) {
        self.wake_pending.set(true);
    }

    /// Its turn is over.
    pub fn end_turn(&self) {
        self.wake_pending.set(false);
    }

    /// The machine, for its driver alone and never across a call of this.
    pub fn with_connection<T>(&self, look: impl FnOnce(&mut Connection) -> T) -> T {
        look(&mut self.conn.borrow_mut())
    }

    /// A datagram came for it.
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

    /// The client's address, once its path was validated: a packet alone moves nobody.
    pub fn peer(&self) -> SocketAddr {
        self.path.borrow().validated()
    }

    /// The next packets to be sent; `buffer` is cleared for them.
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
            // What is counted is asked for only while the client may be moving.
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

    /// Which TLS session it is, over all connections that resume it.
    pub fn lineage(&self) -> Option<u64> {
        self.handshake_observation.borrow().lineage
    }

    /// Whether its client has shown a ticket that was good.
    pub fn continues(&self) -> bool {
        self.handshake_observation.borrow().resumes_session
    }

    /// It cannot go on: it is to be closed with this code.
    pub fn request_close(&self, code: u64) {
        if self.close_code.get().is_none() {
            self.close_code.set(Some(code));
            self.wake_driver();
        }
    }

    /// The code that it is to be closed with.
    pub fn close_code(&self) -> Option<u64> {
        self.close_code.get()
    }

    /// The connection is lost: wakes every stream, and releases a withheld CONNECTION_CLOSE.
    pub fn mark_lost(&self) {
        self.lost.set(true);
        congestion_control::release_withheld(&self.conn.borrow());
        self.slots.borrow().values().for_each(|slot| slot.waker.wake_by_ref());
    }

    /// Opens a stream of ours that goes one way; `None`: the client allows none.
    pub fn open_unidirectional(&self) -> Option<StreamId> {
        self.conn.borrow_mut().streams().open(Dir::Uni)
    }

    /// The next stream that the client has opened.
    pub fn accept(&self, dir: Dir) -> Option<StreamId> {
        self.conn.borrow_mut().streams().accept(dir)
    }

    /// A stream is served by the task of this waker from now on.
    pub fn attach(&self, id: StreamId, waker: Waker) {
        let mut slots = self.slots.borrow_mut();
        if let Some(slot) = slots.get_mut(&id) {
            slot.waker = waker;
            return;
        }
        let ends = false;
        let stopped = false;
        let taken_back = false;
        let left = false;
        slots.insert(
            id,
            QuicStreamSlot {
                waker,
                unsent: Vec::new(),
                finish_requested: ends,
                stopped,
                reset_by_client: taken_back,
                detached: left,
            },
        );
    }

    /// A stream is served by nobody any more. What waits of it is still sent if its end was written.
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

    /// How much may be written now; 0: its task is woken when that changes, or it is gone.
    pub fn write_room(&self, id: StreamId) -> usize {
        let slots = self.slots.borrow();
        slots.get(&id).map_or(0, |slot| if slot.unsent.is_empty() { MAX_UNSENT } else { 0 })
    }

    /// Whether nobody reads what is written any more.
    pub fn is_gone(&self, id: StreamId) -> bool {
        self.lost.get() || self.slots.borrow().get(&id).is_none_or(|slot| slot.stopped)
    }

    /// Writes all of it: what quinn-proto does not accept is held.
    pub fn write(&self, id: StreamId, bytes: &[u8]) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(&id) else { return };
        slot.unsent.extend_from_slice(bytes);
        self.write_unsent(id, slot);
        drop(slots);
        self.wake_driver();
    }

    /// Ends our side behind what was written.
    pub fn finish(&self, id: StreamId) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(&id) else { return };
        slot.finish_requested = true;
        self.write_unsent(id, slot);
        drop(slots);
        self.wake_driver();
    }

    /// Ends our side so that nobody takes it for whole.
    pub fn reset(&self, id: StreamId, code: u64) {
        // It fails for a stream that has ended already.
        let _ = self.conn.borrow_mut().send_stream(id).reset(number(code));
        self.slots.borrow_mut().remove(&id);
        self.wake_driver();
    }

    pub fn stop(&self, id: StreamId, code: u64) {
        // It fails for a stream that was read to its end.
        let _ = self.conn.borrow_mut().recv_stream(id).stop(number(code));
        self.wake_driver();
    }

    pub fn close(&self, now: Instant, code: u64) {
        self.conn.borrow_mut().close(now, number(code), Bytes::new());
        self.wake_driver();
    }

    /// Something came on a stream.
    pub fn readable(&self, id: StreamId) {
        if let Some(slot) = self.slots.borrow().get(&id) {
            slot.waker.wake_by_ref();
        }
    }

    /// There is room for a stream.
    pub fn writable(&self, id: StreamId) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(&id) else { return };
        self.write_unsent(id, slot);
        match slot.detached && slot.unsent.is_empty() {
            true => drop(slots.remove(&id)),
            false => slot.waker.wake_by_ref(),
        }
    }

    /// The client does not want what is written to a stream.
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
            // It fails only for a stream that was stopped or has ended.
            let _ = conn.send_stream(id).finish();
        }
    }
}

fn number(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}
