//! Bytes that move through a pipe in the kernel, and acknowledgements of what was read.

use super::{ProxyStream, StreamBackend, StreamReadResult, StreamWriteResult};
use crate::rt::{NetDriver, Readiness};
use std::io;

impl<N: NetDriver> ProxyStream<N> {
    /// Sets whether what is read from now on is acknowledged at once, instead of together with what is sent.
    pub fn acknowledge_at_once(&self, at_once: bool) {
        self.acknowledges_at_once.set(at_once);
        if let StreamBackend::Socket(sock, _) = &self.backend {
            self.acknowledge(sock);
        }
    }

    /// Acknowledges what was just read, where that is not to wait.
    #[inline]
    pub(super) fn acknowledge(&self, sock: &N::Sock) {
        if self.acknowledges_at_once.get() {
            self.rt.net.acknowledge_now(sock);
        }
    }

    /// Moves bytes into a pipe. A short transfer does not mean that the socket is empty, so only `WouldBlock` clears
    /// readiness.
    pub fn try_fill(&self, pipe: &N::Pipe, most: usize) -> StreamReadResult {
        if !self.source.has(Readiness::READ) {
            return StreamReadResult::WouldBlock;
        }
        let filled = self.socket().and_then(|sock| {
            let filled = self.rt.net.fill(sock, pipe, most)?;
            self.acknowledge(sock);
            Ok(filled)
        });
        match filled {
            Ok(0) => StreamReadResult::End,
            Ok(n) => StreamReadResult::Data(n),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.source.clear(Readiness::READ);
                StreamReadResult::WouldBlock
            }
            Err(error) => StreamReadResult::Failed(error),
        }
    }

    /// Moves bytes out of a pipe.
    pub fn try_pour(&self, pipe: &N::Pipe, most: usize, more: bool) -> StreamWriteResult {
        if !self.source.has(Readiness::WRITE) {
            return StreamWriteResult::WouldBlock;
        }
        // A short transfer does not mean that the socket is full, so only `WouldBlock` clears readiness.
        self.record_write(
            0,
            self.socket().and_then(|sock| self.rt.net.pour(pipe, sock, most, more)),
        )
    }
}
