//! `[uplinks]` and `[uplink.NAME]`: several gateways to the outside, used in parallel.

mod build;
mod diff;
mod keys;
mod types;
mod verify;

pub(super) use build::{build_uplink, build_uplinks};
pub use diff::{UplinkKey, UplinksKey};
pub(super) use keys::{UPLINK, UPLINKS, UPLINKS_TABLE};
pub use types::{SourceNatMode, UplinkConfig, UplinkProbe, UplinksConfig};
pub(super) use verify::verify_uplink;
