//! Which connections of a service are replicated to the other member of a pair. It sends nothing.

use serde::Serialize;

/// Which connections of a service are replicated.
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
    /// Whether connections are replicated.
    pub fn includes_flows(self) -> bool {
        matches!(self, ReplicationScope::Both | ReplicationScope::Flows)
    }

    /// Whether affinity is replicated.
    pub fn includes_affinity(self) -> bool {
        matches!(self, ReplicationScope::Both | ReplicationScope::Affinity)
    }
}
