//! The mailbox of a thread that answers over UDP: which sockets it is to have, and that it should end.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use socket2::Socket;

/// The sockets of one thread by their address.
pub(super) type Sockets = BTreeMap<SocketAddr, Arc<Socket>>;

/// What the thread is to do.
#[derive(Debug)]
pub(super) struct Seat {
    wanted: Mutex<(Sockets, bool)>,
    bell: OwnedFd,
}

impl Seat {
    /// Without sockets.
    pub fn new() -> io::Result<Seat> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Seat { wanted: Mutex::default(), bell })
    }

    /// Has these sockets from now on; `end`: it answers what has come, and ends.
    pub fn tell(&self, sockets: Sockets, end: bool) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = (sockets, end);
        // A bell that is not heard yet rings already.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// What it is to have, and whether it is to end.
    pub fn hear(&self) -> (Sockets, bool) {
        let mut rung = [0; 8];
        let _ = rustix::io::read(&self.bell, &mut rung);
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Readable when something was told.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
