//! The administrative state of a server.

use serde::{Deserialize, Serialize};

/// The administrative state of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdminState {
    /// Only health decides whether the server gets work.
    #[default]
    Enabled,
    /// The server finishes its work and gets no more.
    Drain,
    /// The server gets no work.
    Disabled,
}
