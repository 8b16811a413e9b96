//! `http3` of a service.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_client_http3;
pub(super) use keys::SERVICE_HTTP3;
pub use types::ClientHttp3;
pub(super) use verify::verify_client_http3;
