//! Which field of trusted proxies names the client of a request.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_client_from;
pub(super) use keys::CLIENT_FROM;
pub use types::ClientAddressField;
pub(super) use verify::verify_client_from;
