//! Hedging.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_hedging;
pub(super) use keys::HEDGE;
pub use types::{HedgeDelay, HedgingConfig};
pub(super) use verify::verify_hedging;
