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

/// What a worker listens on.
pub(super) type WorkerListeners = HashMap<ListenerId, Vec<ListenerHandle>>;

/// What a worker carries out between two turns.
pub(super) type WorkerCommand = Box<dyn FnOnce(&Rc<Worker<Epoll>>, &mut WorkerListeners) + Send>;

pub(super) struct CommandQueue {
    commands: Mutex<Vec<WorkerCommand>>,
    wake_event: OwnedFd,
    /// The version of the active snapshot.
    pub(super) installed: AtomicU64,
    pub(super) stop: AtomicBool,
}

impl CommandQueue {
    /// Without orders.
    ///
    /// # Errors
    /// When the kernel gives no eventfd.
    pub(super) fn new() -> io::Result<CommandQueue> {
        Ok(CommandQueue {
            commands: Mutex::default(),
            wake_event: rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            installed: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        })
    }

    /// The eventfd for the worker's epoll: edge-triggered, each write is a new edge.
    ///
    /// # Errors
    /// When there is no descriptor.
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
        // Only a full counter fails, and then the worker has been woken already.
        let _ = rustix::io::write(&self.wake_event, &1u64.to_ne_bytes());
    }
}
