//! `buffer` of a service.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::{build_beyond, build_buffer};
pub(super) use keys::{BEYOND_WORDS, BUFFER, REQUEST_KIND, RESPONSE_KIND};
pub use types::{BufferConfig, BufferOverflow};
pub(super) use verify::{verify_buffer, verify_buffer_memory};
