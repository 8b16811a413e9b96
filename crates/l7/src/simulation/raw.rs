//! A peer that sends given bytes and then stays connected, with or without reading.
//!
//! The tests that use it define the expected outcome.

use super::world::{PeerEvent, PeerIo, ScriptedPeer};

/// One side of a connection.
pub struct RawPeer {
    send: Vec<u8>,
    reads: bool,
    over: bool,
}

impl RawPeer {
    /// Sends these bytes. `reads`: received bytes are read and discarded.
    pub fn new(send: impl Into<Vec<u8>>, reads: bool) -> RawPeer {
        RawPeer { send: send.into(), reads, over: false }
    }
}

impl ScriptedPeer for RawPeer {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.over {
            return;
        }
        if self.reads {
            io.take();
        }
        io.write(&mut self.send);
        if matches!(what, PeerEvent::End | PeerEvent::Broken) {
            self.over = true;
            io.close(false);
        }
    }
}
