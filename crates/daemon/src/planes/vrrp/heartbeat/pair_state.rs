//! The state of the pair, from the heartbeat to replication.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ha::keys::ClusterKeys;
use ha::replica::peer::ReplicaSessions;
use model::config::HeartbeatPathConfig;

/// A path of the heartbeat, which replication uses too.
#[derive(Clone, Debug)]
pub struct PairPath {
    pub config: HeartbeatPathConfig,
    /// The interface's index, as the scope of link-local addresses.
    pub scope: u32,
    /// Heartbeats of the other member arrive by it.
    pub up: bool,
}

/// The state of the pair, as the heartbeat sees it.
#[derive(Clone, Debug)]
pub struct PairState {
    pub keys: ClusterKeys,
    /// The session of this process, and the other member's session while its heartbeats arrive.
    pub sessions: Option<ReplicaSessions>,
    /// The heartbeat's port; replication uses the next one.
    pub port: u16,
    /// Its paths, in the order of the configuration.
    pub paths: Vec<PairPath>,
    /// Shared addresses that this member holds.
    pub active: BTreeSet<IpAddr>,
}

/// The port beside that of the heartbeat.
pub fn replication_port(heartbeat: u16) -> u16 {
    heartbeat.checked_add(1).unwrap_or(heartbeat - 1)
}
