//! `hedge` of a pool: when a second server is sent a request that a first one has not begun to answer.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_hedging;
pub(super) use keys::HEDGE;
pub use types::{HedgeDelay, HedgingConfig};
pub(super) use verify::verify_hedging;
