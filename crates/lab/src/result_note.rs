//! What must be known to read the figures of a benchmark or a study.

use serde::{Deserialize, Serialize};

/// Something that must be known to read a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultNote {
    pub weight: NoteSeverity,
    pub text: String,
}

/// How grave a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteSeverity {
    Hint,
    /// A figure is not as certain as was asked for.
    Warning,
    /// The generator, not the target, was the limit: the figure is a lower bound.
    ClientLimit,
    /// Something that was planned is missing.
    Partial,
}
