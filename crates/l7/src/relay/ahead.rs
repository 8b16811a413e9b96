//! An answer that is all here before its client has taken it: its server is free.

use super::{Ending, Relay};
use crate::flow::{Flow, Framing};
use crate::kept_bytes::{Ahead, KeptBytes};
use crate::rt::Net;

impl<N: Net> Relay<'_, N> {
    /// Lets the answer's body be read ahead of its client, where that is configured.
    pub(super) fn runs_ahead(&mut self) {
        let buffer = &self.ends.service.config.buffer;
        if let Some(most) = buffer.response {
            let kept = KeptBytes::none(&self.ends.service.live);
            self.down.read_ahead(Ahead { most, memory: buffer.memory, kept, full: false });
        }
    }

    /// How the attempt ended for its server, if all of the answer is here. `clean`: nothing came behind it.
    pub(super) fn all_here(&self, answer: Ending, clean: bool) -> Option<Ending> {
        let Ending::Answered { keep_client, keep_server } = answer else { return None };
        let keep_server = keep_server && clean;
        let over = self.uploaded && self.down.is_all_here();
        over.then_some(Ending::Ahead { keep_client, keep_server })
    }

    /// What the client still lacks.
    pub fn take_rest(&mut self) -> Flow<N> {
        self.coded();
        std::mem::replace(&mut self.down, Flow::new(Framing::Done, 0))
    }
}
