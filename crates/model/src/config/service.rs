//! `[service.NAME]`: addresses, a forwarding method, and where requests go.

mod build;
mod diff;
mod keys;
mod listeners;
mod resolve;
mod types;
mod verify;

pub(super) use build::build_service;
pub use diff::ServiceKey;
pub(super) use keys::{
    BETWEEN_BYTES_BOTH, CONNECTION_BYTES, HEADER, HEADER_BYTES, HEADER_COUNT, IDLE_BOTH, SERVICE,
    TARGET_BYTES, TRUST, TUNNEL, WHOLE,
};
pub(super) use listeners::verify_listeners;
pub(super) use resolve::resolve_service;
pub use types::{ServiceConfig, ServiceLimits, ServiceTimeouts, TrustedProxies};
pub(super) use verify::verify_service;
