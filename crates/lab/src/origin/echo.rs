//! One connection that gets every byte back, without its socket.
//!
//! It keeps at most a bounded number of bytes: beyond, the shell stops reading.

/// What is still to be sent back.
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

    /// Nothing more comes: what is held is still sent.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the connection ends once everything is sent.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// What is to be sent.
    pub fn output(&self) -> &[u8] {
        &self.out[self.written..]
    }

    /// So many bytes were sent.
    pub fn on_written(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written >= self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Whether more may be read.
    pub fn wants_more(&self) -> bool {
        !self.ended && self.out.len() < MAX_BUFFERED
    }
}

/// Bounds what one connection holds whose client does not read.
const MAX_BUFFERED: usize = 1 << 20;
