//! `load-shedding` of a pool: which queued requests are rejected while the pool is overloaded.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_load_shedding;
pub(super) use keys::SHED;
pub use types::LoadSheddingConfig;
pub(super) use verify::verify_load_shedding;
