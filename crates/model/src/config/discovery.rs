//! `servers-from` of a pool: service discovery.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_discovery;
pub(super) use keys::SERVERS_FROM;
pub use types::{DiscoveryConfig, DiscoverySource, DnsRecordType};
pub(super) use verify::verify_discovery;
