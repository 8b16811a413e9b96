//! What the other machine of a heartbeat is told of a service's connections. It tells nothing.

use serde::Serialize;

/// What the other machine of a heartbeat is told of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replicate {
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

impl Replicate {
    /// Whether connections are told.
    pub fn flows(self) -> bool {
        matches!(self, Replicate::Both | Replicate::Flows)
    }

    /// Whether it is told who sticks.
    pub fn affinity(self) -> bool {
        matches!(self, Replicate::Both | Replicate::Affinity)
    }
}
