//! What became of a word or a statement.

use serde::Serialize;

/// The outcome of a directive or word, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// The output does not contain it.
    LeftOut,
    /// The output contains it with a different meaning.
    Changed,
    /// The output contains it with the same meaning.
    Converted,
    /// The output does not need it.
    NotNeeded,
}
