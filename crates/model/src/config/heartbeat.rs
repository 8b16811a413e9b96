//! `[heartbeat.PEER]`: heartbeats between two members in addition to VRRP, over several paths.

mod build;
mod diff;
mod keys;
mod resolve;
mod types;
mod verify;

pub(super) use build::build_heartbeat;
pub use diff::HeartbeatKey;
pub(super) use keys::{HEARTBEAT, PATH, PEERS};
pub(super) use resolve::fill_heartbeat_defaults;
pub use types::{
    HeartbeatConfig, HeartbeatPathConfig, ReachabilityConfig, WitnessConfig, WitnessProtocol,
    WitnessUrl,
};
pub(super) use verify::verify_heartbeat;
