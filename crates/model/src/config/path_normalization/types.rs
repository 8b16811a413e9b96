//! The checked configuration of ambiguous paths, and of their letter case.
//!
//! `model::path` computes the readings.

use serde::Serialize;

/// Handling of a path that servers may interpret in several ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathNormalization {
    /// Rules are evaluated for each reading; if the results differ, the request is rejected (default).
    #[default]
    AllReadings,
    /// The request is rejected.
    Refuse,
    /// Rules and servers get the normal form. A path that is still ambiguous is evaluated for each reading.
    NormalForm,
    /// Rules compare only the received path.
    Raw,
}

/// Whether paths are case-sensitive in rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathCase {
    /// Case-sensitive (default).
    #[default]
    Exact,
    /// The case of ASCII letters is ignored.
    Ignore,
}

impl PathNormalization {
    /// Whether it applies without rules, too.
    pub fn applies_without_rules(self) -> bool {
        matches!(self, PathNormalization::Refuse | PathNormalization::NormalForm)
    }

    /// From a validated keyword.
    pub fn from_keyword(word: Option<&str>) -> PathNormalization {
        match word {
            Some("refuse") => PathNormalization::Refuse,
            Some("normal-form") => PathNormalization::NormalForm,
            Some("raw") => PathNormalization::Raw,
            _ => PathNormalization::AllReadings,
        }
    }
}

impl PathCase {
    /// From a validated keyword.
    pub fn from_keyword(word: Option<&str>) -> PathCase {
        match word {
            Some("ignore") => PathCase::Ignore,
            _ => PathCase::Exact,
        }
    }
}
