//! The mailbox of a thread that answers over UDP: which sockets it is to have, and that it should end.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use socket2::Socket;

/// The sockets of one thread by their address.
pub(super) type WorkerSockets = BTreeMap<SocketAddr, Arc<Socket>>;

/// Instructions for the thread.
#[derive(Debug)]
pub(super) struct WorkerMailbox {
    requested: Mutex<(WorkerSockets, bool)>,
    event_fd: OwnedFd,
}

impl WorkerMailbox {
    pub fn new() -> io::Result<WorkerMailbox> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(WorkerMailbox { requested: Mutex::default(), event_fd: bell })
    }

    /// Assigns these sockets. With `end`, the thread answers pending queries and ends.
    pub fn send(&self, sockets: WorkerSockets, end: bool) {
        *self.requested.lock().unwrap_or_else(PoisonError::into_inner) = (sockets, end);
        // A bell that is not heard yet rings already.
        let _ = rustix::io::write(&self.event_fd, &1u64.to_ne_bytes());
    }

    /// The assigned sockets, and whether to end.
    pub fn receive(&self) -> (WorkerSockets, bool) {
        let mut rung = [0; 8];
        // The descriptor does not block: a failed read means that the counter is already zero.
        let _ = rustix::io::read(&self.event_fd, &mut rung);
        self.requested.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Readable when there is a new instruction.
    pub fn event_fd(&self) -> BorrowedFd<'_> {
        self.event_fd.as_fd()
    }
}
