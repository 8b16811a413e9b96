//! Which state of a service is replicated to the other member of a pair. It sends nothing.

use serde::Serialize;

/// Which state of a service is replicated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicationScope {
    /// Connections and affinity.
    #[default]
    Both,
    /// Connections only.
    Flows,
    /// Affinity only.
    Affinity,
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
