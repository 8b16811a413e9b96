//! `buffer` of a service.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_buffer;
pub(super) use keys::BUFFER;
pub use types::{BufferConfig, BufferOverflow};
pub(super) use verify::verify_buffer;
