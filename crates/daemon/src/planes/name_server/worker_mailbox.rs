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

/// An order to the thread.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkerOrder {
    pub sockets: WorkerSockets,
    /// The thread answers pending queries and ends.
    pub end: bool,
}

/// Instructions for the thread.
#[derive(Debug)]
pub(super) struct WorkerMailbox {
    requested: Mutex<WorkerOrder>,
    event_fd: OwnedFd,
}

impl WorkerMailbox {
    pub fn new() -> io::Result<WorkerMailbox> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(WorkerMailbox { requested: Mutex::default(), event_fd: bell })
    }

    /// Replaces the order before.
    pub fn send(&self, order: WorkerOrder) {
        *self.requested.lock().unwrap_or_else(PoisonError::into_inner) = order;
        // A bell that is not heard yet rings already.
        let _ = rustix::io::write(&self.event_fd, &1u64.to_ne_bytes());
    }

    /// Takes the latest order, which replaces earlier ones.
    pub fn receive(&self) -> WorkerOrder {
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
