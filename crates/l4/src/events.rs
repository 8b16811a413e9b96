//! Takes events out of the datapath's ring, a bounded number at a time. `abi::Event` describes them.
//!
//! The ring stores events until they are taken, also across processes. The datapath counts events that find it full.

use std::sync::mpsc::{Receiver, channel};

use bpf::{LoadError, MapValue};
use libbpf_rs::{RingBuffer, RingBufferBuilder};

use crate::abi::Notice;
use crate::datapath::PacketDatapath;

/// Events of one call at most: bounds the time of a call.
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
                // Ignored: cannot fail, because this struct holds the receiver too.
                let _ = tell.send(Notice::read(bytes));
            }
            0
        };
        let mut ring = RingBufferBuilder::new();
        ring.add(&map, take).map_err(failed)?;
        Ok(EventReader { ring: ring.build().map_err(failed)?, pending: heard })
    }

    /// The events since the last call, at most `MAX_EVENTS`; the next call returns the rest.
    pub fn take_events(&self) -> Vec<Notice> {
        // Ignored: an error leaves the events taken so far, and the next call continues.
        let _ = self.ring.consume_raw_n(MAX_EVENTS);
        self.pending.try_iter().collect()
    }
}
