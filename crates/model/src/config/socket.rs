//! `socket`: socket options of a service or of a pool.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_socket_options;
pub(super) use keys::{ALL, POOL};
pub use types::{KeepAlive, PathHint, SocketOptions};
pub(super) use verify::verify_socket;
