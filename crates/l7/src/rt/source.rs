//! One registered socket's readiness, and the task that waits for it.
//!
//! Edge-triggered: a bit stays set until an operation returns `WouldBlock` or transfers fewer bytes than possible. This
//! module performs no operation.

use std::cell::Cell;
use std::rc::Rc;

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
    /// Both directions are closed; the source decides what that means. It is never stored.
    pub const HUNG_UP: u8 = 16;
}

/// A socket's readiness source, and the token by which it is forgotten.
pub struct RegisteredSource {
    pub source: Rc<ReadinessSource>,
    pub token: u64,
}

#[derive(Debug)]
pub struct ReadinessSource {
    bits: Cell<u8>,
    task: Cell<Option<TaskId>>,
    /// Whether it is a Unix socket.
    unix: Cell<bool>,
}

impl ReadinessSource {
    pub(super) fn new(task: Option<TaskId>, bits: u8) -> ReadinessSource {
        ReadinessSource { bits: Cell::new(bits), task: Cell::new(task), unix: Cell::new(false) }
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
    pub fn set(&self, mut bits: u8) {
        if bits & Readiness::HUNG_UP != 0 {
            let meaning = if self.unix.get() { Readiness::END } else { Readiness::BROKEN };
            bits = bits & !Readiness::HUNG_UP | meaning;
        }
        self.bits.set(self.bits.get() | bits);
    }

    /// Makes this the source of a Unix socket. An orderly close by the peer ends both directions of a Unix socket, while
    /// that of a TCP connection ends one: it is no failure, and what the peer sent before can still be read.
    pub fn mark_unix(&self) {
        self.unix.set(true);
    }

    /// Sets the task that is woken when readiness changes; `None` for an idle connection.
    pub fn set_task(&self, task: Option<TaskId>) {
        self.task.set(task);
    }

    pub(super) fn task(&self) -> Option<TaskId> {
        self.task.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hang_up_is_an_end_on_a_unix_socket_and_a_break_elsewhere() {
        for (unix, meaning, other) in
            [(true, Readiness::END, Readiness::BROKEN), (false, Readiness::BROKEN, Readiness::END)]
        {
            let source = ReadinessSource::new(None, 0);
            if unix {
                source.mark_unix();
            }
            source.set(Readiness::READ | Readiness::HUNG_UP);
            assert!(source.has(meaning) && source.has(Readiness::READ), "{unix}");
            assert!(!source.has(other | Readiness::HUNG_UP), "{unix}");
        }
    }
}
