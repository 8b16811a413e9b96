//! One echoing connection, without its socket.
//!
//! Its buffer is bounded: when it is full, the event loop stops reading.

/// The bytes to be echoed.
#[derive(Debug, Default)]
pub struct EchoConnection {
    out: Vec<u8>,
    written: usize,
    ended: bool,
}

impl EchoConnection {
    pub fn on_received(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Notes that the peer closed its side; buffered bytes are still sent.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the connection closes once all bytes are sent.
    pub fn ended(&self) -> bool {
        self.ended
    }

    pub fn output(&self) -> &[u8] {
        &self.out[self.written..]
    }

    /// Removes sent bytes from the output.
    pub fn on_written(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written >= self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    pub fn wants_more(&self) -> bool {
        !self.ended && self.out.len() < MAX_BUFFERED
    }
}

/// Bounds the buffer of a connection whose client does not read.
const MAX_BUFFERED: usize = 1 << 20;
