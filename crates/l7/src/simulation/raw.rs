//! A peer that sends what it is told to and then sits there, reading or not.
//!
//! It understands nothing; whoever plants it knows what must come of it.

use super::world::{Io, Peer, What};

/// One side of a connection.
pub struct Raw {
    send: Vec<u8>,
    reads: bool,
    over: bool,
}

impl Raw {
    /// Sends this. `reads`: takes what comes, and drops it.
    pub fn new(send: impl Into<Vec<u8>>, reads: bool) -> Raw {
        Raw { send: send.into(), reads, over: false }
    }
}

impl Peer for Raw {
    fn on(&mut self, what: What, io: &mut Io) {
        if self.over {
            return;
        }
        if self.reads {
            io.take();
        }
        io.write(&mut self.send);
        if matches!(what, What::End | What::Broken) {
            self.over = true;
            io.close(false);
        }
    }
}
