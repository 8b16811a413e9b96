//! An answer that is all here before its client has taken it: its server is free.

use super::{AttemptEnding, AttemptRelay};
use crate::exchange::buffered_bytes::{BufferedBytes, ReadAhead};
use crate::exchange::flow::{BodyFraming, ByteFlow};
use crate::rt::NetDriver;

impl<N: NetDriver> AttemptRelay<'_, N> {
    /// Lets the answer's body be read ahead of its client, where that is configured.
    pub(super) fn enable_read_ahead(&mut self) {
        let buffer = &self.context.service.config.buffer;
        if let Some(most) = buffer.response {
            let kept = BufferedBytes::new(&self.context.service.stats);
            self.down.enable_read_ahead(ReadAhead {
                max_bytes: most,
                max_memory: buffer.memory,
                buffered: kept,
                full: false,
            });
        }
    }

    /// How the attempt ended for its server, if all of the answer is here. `clean`: nothing came behind it.
    pub(super) fn finish_read_ahead(
        &self,
        answer: AttemptEnding,
        clean: bool,
    ) -> Option<AttemptEnding> {
        let AttemptEnding::Answered { keep_client, keep_server } = answer else { return None };
        let keep_server = keep_server && clean;
        let over = self.uploaded && self.down.is_fully_read();
        over.then_some(AttemptEnding::ReadAhead { keep_client, keep_server })
    }

    /// What the client still lacks.
    pub fn take_remaining(&mut self) -> ByteFlow<N> {
        self.count_compressed();
        std::mem::replace(&mut self.down, ByteFlow::new(BodyFraming::Done, 0))
    }
}
