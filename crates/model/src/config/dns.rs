//! `[names]`, `[zone.NAME]` and `[name.NAME]`: the authoritative DNS server for services and servers.

mod build;
mod diff;
mod keys;
mod resolve;
mod types;
mod verify;

pub(super) use build::{build_name, build_name_server, build_zone};
pub use diff::{NameKey, NameServerKey, ZoneKey};
pub(super) use keys::{NAME, NAMES, SERVER, ZONE, ZONES};
pub(super) use resolve::fill_name_defaults;
pub use types::{
    ClientRegion, NameConfig, NameFallback, NamePolicy, NameServerConfig, NameSource, NamedAddress,
    ZoneConfig, is_within_zone, normalize_name,
};
pub(super) use verify::verify_dns;
