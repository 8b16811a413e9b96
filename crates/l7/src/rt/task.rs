//! The identity of a task. Tasks are run by `core`.

use std::num::NonZeroU32;

/// Names a task; a number is used again, with another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId {
    pub(super) index: u32,
    pub(super) generation: NonZeroU32,
}
