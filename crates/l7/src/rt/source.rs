//! One registered socket's readiness, and the task that waits for it.
//!
//! Edge-triggered: a bit stays set until an operation returns `WouldBlock` or transfers fewer bytes than possible. This
//! module performs no operation.

use std::cell::Cell;

use super::task::TaskId;

/// Operations that may succeed now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness(pub u8);

impl Readiness {
    /// A read may return something, including the end.
    pub const READ: u8 = 1;
    /// A write may accept something.
    pub const WRITE: u8 = 2;
    /// The peer has ended its sending direction.
    pub const END: u8 = 4;
    /// The connection is broken, or closed in both directions.
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

    /// Sets the task that is woken when readiness changes; `None` for an idle connection.
    pub fn set_task(&self, task: Option<TaskId>) {
        self.task.set(task);
    }

    pub(super) fn task(&self) -> Option<TaskId> {
        self.task.get()
    }
}
