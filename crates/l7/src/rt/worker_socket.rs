//! The sockets of a worker: those that it opens itself, and listening ones that it shares with their owner.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A descriptor of a worker.
#[derive(Debug)]
pub enum WorkerSocket {
    Own(OwnedFd),
    /// Closed when the last owner drops it, so that one descriptor is enough for both.
    Shared(Arc<OwnedFd>),
}

impl AsFd for WorkerSocket {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            WorkerSocket::Own(descriptor) => descriptor.as_fd(),
            WorkerSocket::Shared(descriptor) => descriptor.as_fd(),
        }
    }
}

impl From<OwnedFd> for WorkerSocket {
    fn from(descriptor: OwnedFd) -> WorkerSocket {
        WorkerSocket::Own(descriptor)
    }
}
