//! What an operator wants of a server.

use serde::{Deserialize, Serialize};

/// What an operator wants of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[serde(rename = "Admin")]
pub enum AdminState {
    /// Judged by its health alone.
    #[default]
    Enabled,
    /// Finishes what it has.
    Drain,
    /// Takes nothing.
    Disabled,
}
