//! A connection in memory, for an HTTP library that is polled after every received byte instead of by readiness.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Received bytes and bytes to be sent, shared with the library.
#[derive(Clone, Debug, Default)]
pub struct MemoryPipe(Arc<Mutex<PipeBuffers>>);

#[derive(Debug, Default)]
struct PipeBuffers {
    received: VecDeque<u8>,
    to_send: Vec<u8>,
}

impl MemoryPipe {
    /// Appends bytes for the library to read.
    pub fn receive(&self, bytes: &[u8]) {
        self.buffers().received.extend(bytes);
    }

    /// Takes what the library has written.
    pub fn take_output(&self) -> Vec<u8> {
        std::mem::take(&mut self.buffers().to_send)
    }

    fn buffers(&self) -> MutexGuard<'_, PipeBuffers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for MemoryPipe {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut held = self.buffers();
        if held.received.is_empty() {
            return Poll::Pending;
        }
        let (first, _) = held.received.as_slices();
        let many = first.len().min(into.remaining());
        into.put_slice(&first[..many]);
        held.received.drain(..many);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MemoryPipe {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.buffers().to_send.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
