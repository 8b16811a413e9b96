//! A server of a pool.

mod build;
mod diff;
mod keys;
mod resolve;
mod types;

pub(super) use build::build_server;
pub use diff::ServerKey;
pub(super) use keys::{CONNECTIONS, SERVER, WEIGHT};
pub(super) use resolve::resolve_server;
pub use types::{ServerConfig, ServerWeight};
