//! Bytes that wait for the transport.

/// Memory that an empty buffer keeps, in bytes.
/// The frames of a few small responses.
const KEPT_CAPACITY: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct OutputBuffer {
    pub(super) bytes: Vec<u8>,
    /// The transport has taken this many of the bytes.
    sent: usize,
}

impl OutputBuffer {
    pub(super) fn unsent(&self) -> &[u8] {
        self.bytes.get(self.sent..).unwrap_or_default()
    }

    pub(super) fn unsent_bytes(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Removes bytes that the transport has taken.
    pub(super) fn consume(&mut self, sent: usize) {
        self.sent = self.sent.saturating_add(sent).min(self.bytes.len());
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
            self.bytes.shrink_to(KEPT_CAPACITY);
        } else if self.sent > KEPT_CAPACITY && self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Frees the memory of an empty buffer.
    pub(super) fn free(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_in_their_order() {
        let mut buffer = OutputBuffer::default();
        let wanted: Vec<u8> = (0..200_000u32).map(|number| number as u8).collect();
        let mut taken = Vec::new();
        for piece in wanted.chunks(10_000) {
            buffer.bytes.extend_from_slice(piece);
            let part = buffer.unsent()[..9_000].to_vec();
            buffer.consume(part.len());
            taken.extend(part);
        }
        assert!(buffer.bytes.len() < 100_000, "what was sent is dropped");
        taken.extend(buffer.unsent());
        buffer.consume(usize::MAX);
        assert!(taken == wanted && buffer.unsent().is_empty());
        assert!(buffer.bytes.capacity() <= KEPT_CAPACITY);
        buffer.free();
        assert_eq!(buffer.bytes.capacity(), 0);
    }
}
