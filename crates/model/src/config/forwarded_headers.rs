//! The fields that describe clients to servers.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_forwarded;
pub(super) use keys::FORWARDED;
pub use types::{ClientField, ClientFieldMode, ForwardedHeaderAction, ForwardedHeaders};
pub(super) use verify::verify_forwarded;
