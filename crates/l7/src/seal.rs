//! The TLS of one connection beside its socket, and what a worker's connections under TLS read into and compose in.
//!
//! It reads and writes nothing: `stream` does.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use crate::census::Counting;
use crate::tls::judged::JudgedClient;
use crate::tls::session::{RECORD, SEALED, Session};

/// Bytes read at a time, with what was kept of an unfinished message.
pub const INPUT: usize = 128 * 1024;

/// The least that is read at a time: a whole record.
pub const LEAST: usize = RECORD;

/// What one worker's connections under TLS read into and compose in, one at a time.
pub struct SealedScratch {
    /// Ciphertext that came.
    pub input: Box<[u8]>,
    /// Ciphertext that goes.
    pub output: Box<[u8]>,
}

impl Default for SealedScratch {
    fn default() -> Self {
        SealedScratch {
            input: vec![0; INPUT].into_boxed_slice(),
            output: vec![0; SEALED].into_boxed_slice(),
        }
    }
}

/// The TLS of a stream.
pub struct Sealed {
    /// Its machine.
    pub session: RefCell<Session>,
    /// Its worker's.
    pub scratch: Rc<RefCell<SealedScratch>>,
    /// What a client has proven, as lines of a request's head.
    pub identity: OnceCell<Vec<u8>>,
    /// The client's certificate; none: it has shown none.
    pub client: OnceCell<Rc<JudgedClient>>,
    /// Bytes written to the socket.
    pub written: Cell<u64>,
    census: Counting,
    reported: Cell<usize>,
}

impl Sealed {
    /// With nothing sent yet.
    pub fn new(session: Session, scratch: Rc<RefCell<SealedScratch>>, census: Counting) -> Sealed {
        Sealed {
            session: RefCell::new(session),
            scratch,
            identity: OnceCell::new(),
            client: OnceCell::new(),
            written: Cell::new(0),
            census,
            reported: Cell::new(0),
        }
    }

    /// Tells the census what the session keeps.
    pub fn report(&self, session: &Session) {
        let now = session.held();
        let before = self.reported.replace(now);
        if now != before {
            self.census.0.held.change(before, now);
        }
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        self.census.0.held.change(self.reported.get(), 0);
    }
}
