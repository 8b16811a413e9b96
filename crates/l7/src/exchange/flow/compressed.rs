//! A direction whose bytes are compressed.
//!
//! The framing is the sender's; the receiver gets chunks of the compressed form. Whenever the sender pauses, the
//! compressor is flushed, so that the receiver gets every byte so far.

use wire::http1::Defect;

use super::ByteFlow;
use crate::exchange::compressor::{BodyCompressor, CompressedBytes};
use crate::rt::NetDriver;
use crate::worker::Worker;

impl<N: NetDriver> ByteFlow<N> {
    /// Compresses all further bytes.
    pub fn compress_with(&mut self, compressor: BodyCompressor) {
        self.may_splice = false;
        self.compressor = Some(Box::new(compressor));
    }

    /// Bytes before and after compression.
    pub fn compressed_totals(&self) -> CompressedBytes {
        self.compressor
            .as_ref()
            .map_or(self.compressed_bytes, |compressor| compressor.byte_counts())
    }

    /// Like `decode`, with compression.
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

    /// Flushes the compressor when the sender pauses; false: nothing was pending.
    pub(super) fn flush_compressor(&mut self, worker: &Worker<N>) -> bool {
        let Some(compressor) = &mut self.compressor else { return false };
        let mut out = Vec::new();
        let flushed = compressor.flush(&mut out);
        self.failed |= flushed.is_err();
        self.queue_bytes(worker, &out);
        !out.is_empty() || self.failed
    }

    /// Buffers the end of the compressed body; false: there is no compressor, or its end was buffered already.
    pub(super) fn finish_compressor(&mut self, worker: &Worker<N>) -> bool {
        let Some(compressor) = self.compressor.take() else { return false };
        self.compressed_bytes = compressor.byte_counts();
        let mut out = Vec::new();
        self.failed |= compressor.finish(&std::mem::take(&mut self.trailers), &mut out).is_err();
        self.compressed_bytes.output += out.len() as u64;
        self.queue_bytes(worker, &out);
        true
    }
}
