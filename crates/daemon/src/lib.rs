//! The only room where the planes meet: start, configuration in force, changes to it, the way out.
//!
//! It forwards nothing itself: `l7` does.

pub mod control;
pub mod event;
