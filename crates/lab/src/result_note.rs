//! Facts that a reader of a benchmark or study must know.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultNote {
    pub weight: NoteSeverity,
    pub text: String,
}

/// The severity of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteSeverity {
    Hint,
    /// A figure is less precise than requested.
    Warning,
    /// The generator, not the target, was the limit: the figure is a lower bound.
    ClientLimit,
    /// A planned measurement is missing.
    Partial,
}
