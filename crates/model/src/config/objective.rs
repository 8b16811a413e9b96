//! `objective` of a service: its SLO.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_objective;
pub(super) use keys::OBJECTIVE;
pub use types::ServiceObjective;
pub(super) use verify::verify_objective;
