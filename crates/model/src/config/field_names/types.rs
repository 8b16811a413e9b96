//! The configuration of field names of unusual characters.

use serde::Serialize;

/// What becomes of fields whose names have other characters than letters, digits and `-`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldNamePolicy {
    /// They pass (default).
    #[default]
    Any,
    Drop,
    /// Their request is refused.
    Refuse,
}

impl FieldNamePolicy {
    /// From a word that was found to be good.
    pub fn from_keyword(word: Option<&str>) -> FieldNamePolicy {
        match word {
            Some("drop") => FieldNamePolicy::Drop,
            Some("refuse") => FieldNamePolicy::Refuse,
            _ => FieldNamePolicy::Any,
        }
    }
}
