//! `accept-proxy` of a service and `send-proxy` of a pool.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::{build_accept_proxy, build_send_proxy};
pub(super) use keys::{ACCEPT, SEND};
pub use types::{AcceptProxyConfig, SendProxyVersion, UntrustedPeerPolicy};
pub(super) use verify::{verify_accept_proxy, verify_send_proxy};
