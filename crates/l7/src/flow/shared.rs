//! What the streams of one connection keep together for a client that does not take it.
//!
//! Each may keep a little, so that it goes on; beyond that all share what a connection may hold.

use super::Flow;
use super::framing::Framing;
use crate::kept_bytes::SharedBytes;
use crate::rt::Net;
use crate::stream::Stream;

/// What a stream may keep although the others have all there is.
const LEAST: usize = 1024;

impl<N: Net> Flow<N> {
    /// A direction towards a client, with nothing in it; `limit`: what its connection may hold, bytes.
    pub fn towards(client: &Stream<N>, framing: Framing, limit: u32) -> Self {
        let mut flow = Flow::new(framing, limit);
        flow.shared = client.kept().map(|kept| SharedBytes::new(kept, limit as usize));
        flow
    }

    /// Bytes that may be read of the sender at a time: the receiver may take none of them.
    pub fn room(&self) -> usize {
        match &self.shared {
            // Bodies that are read ahead are counted by their service.
            Some(shared) if self.ahead.is_none() => {
                shared.left().clamp(LEAST.min(self.most), self.most)
            }
            _ => self.most,
        }
    }
}
