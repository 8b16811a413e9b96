//! The only room where the planes meet: start, configuration in force, changes to it, the way out.
//!
//! It forwards nothing itself: `l7` does.

pub mod access;
pub mod control;
pub mod event;
pub mod generations;
mod keep;
pub mod listeners;
pub mod metrics;
pub mod probe;
pub mod reconcile;
pub mod report;
pub mod resolve;
mod rights;
mod scratch;
pub mod serve;
pub mod systemd;
