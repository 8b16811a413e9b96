//! How much of a request's body is held behind its head, so that the request can be sent again.
//!
//! It counts the bytes for the gauges. The bytes themselves are in `IncomingRequest::head`.

use std::sync::Arc;

use crate::accounting::gauges::OpenGauges;
use crate::rt::NetDriver;
use crate::worker::Worker;

/// The held bytes of one request.
#[derive(Default)]
pub struct ResendBody {
    bytes: usize,
    gauges: Option<Arc<OpenGauges>>,
    released: bool,
}

impl ResendBody {
    /// So many more bytes are held.
    pub fn grow<N: NetDriver>(&mut self, worker: &Worker<N>, more: usize) {
        let census = self.gauges.get_or_insert_with(|| worker.gauges.0.clone());
        census.held_bytes.change(0, more);
        self.bytes += more;
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// They are held no longer.
    pub fn release(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if let Some(census) = &self.gauges {
            census.held_bytes.change(bytes, 0);
        }
        self.released |= bytes > 0;
    }

    /// Whether bytes were released: the request is not whole any more.
    pub fn is_released(&self) -> bool {
        self.released
    }
}

impl Drop for ResendBody {
    fn drop(&mut self) {
        self.release();
    }
}
