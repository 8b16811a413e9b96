//! `shed` of a pool: which requests are refused while it is overloaded.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_load_shedding;
pub(super) use keys::SHED;
pub use types::LoadSheddingConfig;
pub(super) use verify::verify_load_shedding;
