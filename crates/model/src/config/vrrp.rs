//! `[vrrp.NAME]`: virtual IP addresses that this machine shares with others.

mod build;
mod diff;
mod keys;
mod resolve;
mod types;
mod verify;

pub(super) use build::build_vrrp;
pub use diff::VrrpKey;
pub(super) use keys::{GROUPS, VRRP};
pub(super) use resolve::resolve_vrrp;
pub use types::{CompanionAddresses, LinkAddressMode, VrrpConfig};
pub(super) use verify::{verify_return_addresses, verify_vrrp};
