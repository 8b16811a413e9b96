//! A direction whose bytes are compressed on their way.
//!
//! The framing is still the sender's; what the receiver gets are chunks of the compressed form. Whenever the sender
//! pauses, the receiver gets all that has come so far.

use wire::http1::Defect;

use super::Flow;
use crate::coder::Coder;
use crate::rt::Net;
use crate::worker::Worker;

impl<N: Net> Flow<N> {
    /// From here on bytes are compressed.
    pub fn code(&mut self, coder: Coder) {
        self.may_splice = false;
        self.coder = Some(Box::new(coder));
    }

    /// Bytes that were compressed, as they came and as they go.
    pub fn coded(&self) -> (u64, u64) {
        self.coder.as_ref().map_or(self.coded, |coder| coder.moved())
    }

    /// As `decode`, through the coder.
    pub(super) fn decode_coded(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, Defect> {
        let mut raw = Vec::with_capacity(input.len());
        let consumed = self.decode_plain(input, &mut raw)?;
        if let Some(coder) = &mut self.coder {
            self.failed |= coder.take(&raw, out).is_err();
        }
        Ok(consumed)
    }

    /// The sender pauses: keeps what the receiver lacks of what has come; false: it lacks nothing.
    pub(super) fn pauses(&mut self, worker: &Worker<N>) -> bool {
        let Some(coder) = &mut self.coder else { return false };
        let mut out = Vec::new();
        let flushed = coder.flush(&mut out);
        self.failed |= flushed.is_err();
        self.keep(worker, &out);
        !out.is_empty() || self.failed
    }

    /// The body is over: keeps the end of its compressed form; false: there is none, or it was kept already.
    pub(super) fn ends(&mut self, worker: &Worker<N>) -> bool {
        let Some(coder) = self.coder.take() else { return false };
        self.coded = coder.moved();
        let mut out = Vec::new();
        self.failed |= coder.finish(&std::mem::take(&mut self.trailers), &mut out).is_err();
        self.coded.1 += out.len() as u64;
        self.keep(worker, &out);
        true
    }
}
