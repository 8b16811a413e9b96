//! The buffer that all streams of one client connection share when the client does not read.
//!
//! Each stream may hold a little, so that it makes progress; beyond that all share the limit of the connection.

use super::ByteFlow;
use super::framing::BodyFraming;
use crate::conn::stream::ProxyStream;
use crate::exchange::buffered_bytes::StreamBufferShare;
use crate::rt::NetDriver;

/// What a stream may keep although the others have all there is.
const MIN_BUFFER: usize = 1024;

impl<N: NetDriver> ByteFlow<N> {
    /// A direction towards a client, with nothing in it; `limit`: what its connection may hold, bytes.
    pub fn new_to_client(client: &ProxyStream<N>, framing: BodyFraming, limit: u32) -> Self {
        let mut flow = ByteFlow::new(framing, limit);
        flow.shared_buffer =
            client.shared_buffered().map(|kept| StreamBufferShare::new(kept, limit as usize));
        flow
    }

    /// Bytes that may be read of the sender at a time: the receiver may take none of them.
    pub fn read_room(&self) -> usize {
        match &self.shared_buffer {
            // Bodies that are read ahead are counted by their service.
            Some(shared) if self.read_ahead.is_none() => {
                shared.remaining().clamp(MIN_BUFFER.min(self.most), self.most)
            }
            _ => self.most,
        }
    }
}
