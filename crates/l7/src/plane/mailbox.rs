//! Orders to a worker, and the bell that wakes it for them.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

use rustix::event::EventfdFlags;

use model::id::ListenerId;

use crate::accept::Listening;
use crate::rt::epoll::Epoll;
use crate::worker::Worker;

/// What a worker listens on.
pub(super) type Listeners = HashMap<ListenerId, Vec<Listening>>;

/// What a worker carries out between two turns.
pub(super) type Order = Box<dyn FnOnce(&Rc<Worker<Epoll>>, &mut Listeners) + Send>;

/// A worker's orders.
pub(super) struct Mailbox {
    orders: Mutex<Vec<Order>>,
    bell: OwnedFd,
    /// The version of the snapshot that is in force.
    pub(super) installed: AtomicU64,
    /// The worker ends.
    pub(super) stop: AtomicBool,
}

impl Mailbox {
    /// Without orders.
    ///
    /// # Errors
    /// When the kernel gives no eventfd.
    pub(super) fn new() -> io::Result<Mailbox> {
        Ok(Mailbox {
            orders: Mutex::default(),
            bell: rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            installed: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        })
    }

    /// The bell as the worker hears it: edge-triggered, each ring is a new edge.
    ///
    /// # Errors
    /// When there is no descriptor.
    pub(super) fn bell(&self) -> io::Result<OwnedFd> {
        self.bell.try_clone()
    }

    pub(super) fn post(
        &self,
        order: impl FnOnce(&Rc<Worker<Epoll>>, &mut Listeners) + Send + 'static,
    ) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(order));
        self.ring();
    }

    pub(super) fn take(&self) -> Vec<Order> {
        std::mem::take(&mut *self.orders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn ring(&self) {
        // Only a full counter refuses, and then the bell has been rung already.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}
