//! The configuration of paths that can be read in several ways, and of their letter case.
//!
//! The readings themselves are `model::path`'s.

use serde::Serialize;

/// What becomes of a path that servers may read in several ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathNormalization {
    /// Rules are asked for each reading; where they disagree the request is refused (default).
    #[default]
    AllReadings,
    /// It is refused.
    Refuse,
    /// Its normal form goes to rules and servers; what is still ambiguous then is asked for each reading.
    NormalForm,
    /// Rules compare it as it stands there, and nothing else is looked at.
    Raw,
}

/// Whether letter case counts in paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathCase {
    /// It does (default).
    #[default]
    Exact,
    /// Rules do not look at the case of ASCII letters.
    Ignore,
}

impl PathNormalization {
    /// Whether it matters without rules, too.
    pub fn applies_without_rules(self) -> bool {
        matches!(self, PathNormalization::Refuse | PathNormalization::NormalForm)
    }

    /// From a word that was found to be good.
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
    /// From a word that was found to be good.
    pub fn from_keyword(word: Option<&str>) -> PathCase {
        match word {
            Some("ignore") => PathCase::Ignore,
            _ => PathCase::Exact,
        }
    }
}
