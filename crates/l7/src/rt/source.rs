//! One registered socket's readiness, and the task that waits for it.
//!
//! Edge-triggered: a bit stays set until an operation says `WouldBlock` or came up short. It performs no operation.

use std::cell::Cell;

use super::task::TaskId;

/// What is known to be possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness(pub u8);

impl Readiness {
    /// A read may give something, the end included.
    pub const READ: u8 = 1;
    /// A write may take something.
    pub const WRITE: u8 = 2;
    /// The peer has sent its end.
    pub const END: u8 = 4;
    /// The connection is broken or closed both ways.
    pub const BROKEN: u8 = 8;
}

#[derive(Debug)]
pub struct ReadinessSource {
    bits: Cell<u8>,
    task: Cell<Option<TaskId>>,
}

impl ReadinessSource {
    pub(super) fn new(task: Option<TaskId>, bits: u8) -> ReadinessSource {
        ReadinessSource { bits: Cell::new(bits), task: Cell::new(task) }
    }

    /// Whether any of these bits is set.
    #[inline]
    pub fn has(&self, bits: u8) -> bool {
        self.bits.get() & bits != 0
    }

    #[inline]
    pub fn clear(&self, bits: u8) {
        self.bits.set(self.bits.get() & !bits);
    }

    #[inline]
    pub fn set(&self, bits: u8) {
        self.bits.set(self.bits.get() | bits);
    }

    /// Who is polled when readiness changes; none for an idle connection.
    pub fn set_task(&self, task: Option<TaskId>) {
        self.task.set(task);
    }

    pub(super) fn task(&self) -> Option<TaskId> {
        self.task.get()
    }
}
