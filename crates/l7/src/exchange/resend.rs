//! Counts the body bytes that are stored after a request's head, so that the request can be sent again.
//!
//! The bytes are counted for the gauges. The bytes themselves are in `IncomingRequest::head`.

use std::sync::Arc;

use crate::accounting::gauges::OpenGauges;
use crate::rt::NetDriver;
use crate::worker::Worker;

/// The stored bytes of one request.
#[derive(Default)]
pub struct ResendBody {
    bytes: usize,
    gauges: Option<Arc<OpenGauges>>,
    released: bool,
}

impl ResendBody {
    /// Counts `more` stored bytes.
    pub fn grow<N: NetDriver>(&mut self, worker: &Worker<N>, more: usize) {
        let census = self.gauges.get_or_insert_with(|| worker.gauges.0.clone());
        census.held_bytes.change(0, more);
        self.bytes += more;
    }

    /// Number of stored bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The bytes are no longer stored.
    pub fn release(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if let Some(census) = &self.gauges {
            census.held_bytes.change(bytes, 0);
        }
        self.released |= bytes > 0;
    }

    /// Whether bytes were released: the request is no longer complete.
    pub fn is_released(&self) -> bool {
        self.released
    }
}

impl Drop for ResendBody {
    fn drop(&mut self) {
        self.release();
    }
}
