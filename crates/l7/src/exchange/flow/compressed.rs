//! A direction whose bytes are compressed on their way.
//!
//! The framing is still the sender's; what the receiver gets are chunks of the compressed form. Whenever the sender
//! pauses, the receiver gets all that has come so far.

use wire::http1::Defect;

use super::ByteFlow;
use crate::exchange::compressor::BodyCompressor;
use crate::rt::NetDriver;
use crate::worker::Worker;

impl<N: NetDriver> ByteFlow<N> {
    /// From here on bytes are compressed.
    pub fn compress_with(&mut self, compressor: BodyCompressor) {
        self.may_splice = false;
        self.compressor = Some(Box::new(compressor));
    }

    /// Bytes that were compressed, as they came and as they go.
    pub fn compressed_totals(&self) -> (u64, u64) {
        self.compressor
            .as_ref()
            .map_or(self.compressed_bytes, |compressor| compressor.byte_counts())
    }

    /// As `decode`, through the coder.
    pub(super) fn decode_compressed(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, Defect> {
        let mut raw = Vec::with_capacity(input.len());
        let consumed = self.decode_plain(input, &mut raw)?;
        if let Some(compressor) = &mut self.compressor {
            self.failed |= compressor.compress(&raw, out).is_err();
        }
        Ok(consumed)
    }

    /// The sender pauses: keeps what the receiver lacks of what has come; false: it lacks nothing.
    pub(super) fn flush_compressor(&mut self, worker: &Worker<N>) -> bool {
        let Some(compressor) = &mut self.compressor else { return false };
        let mut out = Vec::new();
        let flushed = compressor.flush(&mut out);
        self.failed |= flushed.is_err();
        self.queue_bytes(worker, &out);
        !out.is_empty() || self.failed
    }

    /// The body is over: keeps the end of its compressed form; false: there is none, or it was kept already.
    pub(super) fn finish_compressor(&mut self, worker: &Worker<N>) -> bool {
        let Some(compressor) = self.compressor.take() else { return false };
        self.compressed_bytes = compressor.byte_counts();
        let mut out = Vec::new();
        self.failed |= compressor.finish(&std::mem::take(&mut self.trailers), &mut out).is_err();
        self.compressed_bytes.1 += out.len() as u64;
        self.queue_bytes(worker, &out);
        true
    }
}
