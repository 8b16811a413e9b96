//! The buffer that all streams of one client connection share when the client does not read.
//!
//! Each stream may buffer a little, so that it makes progress; beyond that all streams share the connection's limit.

use super::ByteFlow;
use super::framing::BodyFraming;
use crate::conn::stream::ProxyStream;
use crate::exchange::buffered_bytes::StreamBufferShare;
use crate::rt::NetDriver;

/// Bytes that a stream may buffer even if the other streams use the whole limit.
const MIN_BUFFER: usize = 1024;

impl<N: NetDriver> ByteFlow<N> {
    /// An empty direction to a client. `limit`: buffer limit of the connection in bytes.
    pub fn new_to_client(client: &ProxyStream<N>, framing: BodyFraming, limit: u32) -> Self {
        let mut flow = ByteFlow::new(framing, limit);
        flow.shared_buffer =
            client.shared_buffered().map(|kept| StreamBufferShare::new(kept, limit as usize));
        flow
    }

    /// Bytes that may be read from the sender at a time: the receiver may accept none of them.
    pub fn read_room(&self) -> usize {
        match &self.shared_buffer {
            // With reading ahead, the service's limit applies instead.
            Some(shared) if self.read_ahead.is_none() => {
                shared.remaining().clamp(MIN_BUFFER.min(self.most), self.most)
            }
            _ => self.most,
        }
    }
}
