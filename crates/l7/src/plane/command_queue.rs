//! The command queue of a worker, and the eventfd that wakes the worker for it.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

use rustix::event::EventfdFlags;

use model::id::ListenerId;

use crate::downstream::accept::ListenerHandle;
use crate::rt::epoll::Epoll;
use crate::worker::Worker;

/// The listeners of a worker.
pub(super) type WorkerListeners = HashMap<ListenerId, Vec<ListenerHandle>>;

/// A command that a worker runs between two turns.
pub(super) type WorkerCommand = Box<dyn FnOnce(&Rc<Worker<Epoll>>, &mut WorkerListeners) + Send>;

pub(super) struct CommandQueue {
    commands: Mutex<Vec<WorkerCommand>>,
    wake_event: OwnedFd,
    /// The version of the active snapshot.
    pub(super) installed: AtomicU64,
    pub(super) stop: AtomicBool,
}

impl CommandQueue {
    /// An empty queue.
    ///
    /// # Errors
    /// The kernel cannot create an eventfd.
    pub(super) fn new() -> io::Result<CommandQueue> {
        Ok(CommandQueue {
            commands: Mutex::default(),
            wake_event: rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            installed: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        })
    }

    /// A duplicate of the eventfd for the worker's epoll: edge-triggered, so each write causes a new event.
    ///
    /// # Errors
    /// No descriptor is free.
    pub(super) fn wake_descriptor(&self) -> io::Result<OwnedFd> {
        self.wake_event.try_clone()
    }

    pub(super) fn send(
        &self,
        order: impl FnOnce(&Rc<Worker<Epoll>>, &mut WorkerListeners) + Send + 'static,
    ) {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(order));
        self.wake();
    }

    pub(super) fn take_commands(&self) -> Vec<WorkerCommand> {
        std::mem::take(&mut *self.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn wake(&self) {
        // The write fails only for a full counter, and then the worker has been woken already.
        let _ = rustix::io::write(&self.wake_event, &1u64.to_ne_bytes());
    }
}
