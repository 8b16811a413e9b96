//! What the other machine of a heartbeat is told of a service's connections. It tells nothing.

use serde::Serialize;

/// What the other machine of a heartbeat is told of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicationScope {
    /// Connections, and who sticks to which server.
    #[default]
    Both,
    /// Connections alone.
    Flows,
    /// Who sticks alone.
    Affinity,
    /// Nothing.
    None,
}

impl ReplicationScope {
    /// Whether connections are told.
    pub fn includes_flows(self) -> bool {
        matches!(self, ReplicationScope::Both | ReplicationScope::Flows)
    }

    /// Whether it is told who sticks.
    pub fn includes_affinity(self) -> bool {
        matches!(self, ReplicationScope::Both | ReplicationScope::Affinity)
    }
}
