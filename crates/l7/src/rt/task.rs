//! The identity of a task. `core` runs the tasks.

use std::num::NonZeroU32;

/// Identifies a task; a number is reused with another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId {
    pub(super) index: u32,
    pub(super) generation: NonZeroU32,
}
