//! Takes notices out of the datapath's ring, a bounded number at a time. What they mean stands at `abi::Event`.
//!
//! The ring keeps what nobody has taken yet, also from one process to the next; what finds it full is counted by the
//! datapath.

use std::sync::mpsc::{Receiver, channel};

use bpf::{LoadError, MapValue};
use libbpf_rs::{RingBuffer, RingBufferBuilder};

use crate::abi::Notice;
use crate::datapath::PacketDatapath;

/// Notices of one call.
pub const MAX_EVENTS: usize = 1_024;

/// The reading end of the ring.
#[derive(Debug)]
pub struct EventReader {
    ring: RingBuffer<'static>,
    pending: Receiver<Notice>,
}

impl EventReader {
    /// Opens the ring of a plane.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open(plane: &PacketDatapath) -> Result<EventReader, LoadError> {
        let map = plane.events()?;
        let failed = |source| LoadError::Map { name: "events".to_owned(), source };
        let (tell, heard) = channel();
        let take = move |bytes: &[u8]| {
            if bytes.len() >= Notice::SIZE {
                // Both ends are held here.
                let _ = tell.send(Notice::read(bytes));
            }
            0
        };
        let mut ring = RingBufferBuilder::new();
        ring.add(&map, take).map_err(failed)?;
        Ok(EventReader { ring: ring.build().map_err(failed)?, pending: heard })
    }

    /// What has come since the last call, `MOST` at most; the rest is there for the next one.
    pub fn take_events(&self) -> Vec<Notice> {
        // An error leaves what was taken before it, and the next call goes on.
        let _ = self.ring.consume_raw_n(MAX_EVENTS);
        self.pending.try_iter().collect()
    }
}
