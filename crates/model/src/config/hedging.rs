//! `hedge` of a pool: when a second server gets a request whose response from the first has not started.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_hedging;
pub(super) use keys::HEDGE;
pub use types::{HedgeDelay, HedgingConfig};
pub(super) use verify::verify_hedging;
