//! A response that has completely arrived before the client has received it: its server is released.

use super::{AttemptEnding, AttemptRelay};
use crate::exchange::buffered_bytes::{BufferedBytes, ReadAhead};
use crate::exchange::flow::{BodyFraming, ByteFlow};
use crate::rt::NetDriver;

impl<N: NetDriver> AttemptRelay<'_, N> {
    /// Enables reading ahead of the client for the response's body, if configured.
    pub(super) fn enable_read_ahead(&mut self) {
        let buffer = self.context.settings.buffer(&self.context.service.config);
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

    /// The ending for the server if the complete response has arrived. `clean`: no bytes follow the response.
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

    /// The rest of the response for the client.
    pub fn take_remaining(&mut self) -> ByteFlow<N> {
        self.count_compressed();
        std::mem::replace(&mut self.down, ByteFlow::new(BodyFraming::Done, 0))
    }
}
