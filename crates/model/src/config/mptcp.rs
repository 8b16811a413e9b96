//! `[mptcp]`: the addresses for further subflows of Multipath TCP connections.

mod build;
mod diff;
mod keys;
mod types;
mod verify;

pub(super) use build::build_mptcp;
pub use diff::MptcpKey;
pub(super) use keys::{ENDPOINT, MPTCP};
pub use types::{EndpointPurpose, MptcpConfig, MptcpEndpointConfig};
pub(super) use verify::verify_mptcp;
