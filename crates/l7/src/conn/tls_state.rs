//! The TLS session of one connection, and the scratch buffers that all TLS connections of a worker share.
//!
//! `stream::tls_io` performs the reads and writes.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use crate::accounting::gauges::GaugeHandle;
use crate::tls::session::{MAX_RECORD_BYTES, SEALED_BYTES, TlsSession};
use crate::tls::verified_client::VerifiedClient;

/// Bytes read at a time, including the buffered part of an incomplete message.
/// Seven full records of TLS in one read; each worker has one such buffer.
pub const INPUT_BYTES: usize = 128 * 1024;

/// The minimum that is read at a time: a whole record.
pub const MIN_READ_BYTES: usize = MAX_RECORD_BYTES;

/// Scratch buffers for reading and writing, shared by all TLS connections of a worker, one at a time.
pub struct TlsScratch {
    pub input: Box<[u8]>,
    pub output: Box<[u8]>,
}

impl Default for TlsScratch {
    fn default() -> Self {
        TlsScratch {
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            output: vec![0; SEALED_BYTES].into_boxed_slice(),
        }
    }
}

/// The TLS state of a stream.
pub struct TlsState {
    pub session: RefCell<TlsSession>,
    pub scratch: Rc<RefCell<TlsScratch>>,
    /// Field lines that describe the client's certificate.
    pub identity: OnceCell<Vec<u8>>,
    /// The client's certificate; empty: the client sent none.
    pub verified_client: OnceCell<Rc<VerifiedClient>>,
    /// Bytes written to the socket.
    pub written: Cell<u64>,
    gauges: GaugeHandle,
    reported_bytes: Cell<usize>,
}

impl TlsState {
    pub fn new(
        session: TlsSession,
        scratch: Rc<RefCell<TlsScratch>>,
        census: GaugeHandle,
    ) -> TlsState {
        TlsState {
            session: RefCell::new(session),
            scratch,
            identity: OnceCell::new(),
            verified_client: OnceCell::new(),
            written: Cell::new(0),
            gauges: census,
            reported_bytes: Cell::new(0),
        }
    }

    /// Updates the gauges with the bytes that the session buffers.
    pub fn report_buffered(&self, session: &TlsSession) {
        let now = session.buffered_bytes();
        let before = self.reported_bytes.replace(now);
        if now != before {
            self.gauges.0.held_bytes.change(before, now);
        }
    }
}

impl Drop for TlsState {
    fn drop(&mut self) {
        self.gauges.0.held_bytes.change(self.reported_bytes.get(), 0);
    }
}
