//! `http2` of a service and of a pool.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::{build_client_http2, build_server_http2};
pub(super) use keys::{POOL_HTTP2, SERVICE_HTTP2};
pub use types::{ClientHttp2, ClientHttp2Mode, Http2FloodLimits, ServerHttp2, ServerHttp2Mode};
pub(super) use verify::{verify_client_http2, verify_server_http2, warn_without_effect};
