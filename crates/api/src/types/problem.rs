//! What went wrong: RFC 9457 problem details, with the configuration's findings where there are any.
//!
//! A problem says what was asked, what stood against it and what to do. It carries no stack and no internals.

use serde::{Deserialize, Serialize};

/// Body of every answer that is not a success, as `application/problem+json` (RFC 9457 §3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Problem {
    /// Which problem, as a relative reference: `/problems/generation-moved`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same in words, equal for every occurrence.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened this time: where, what was found, what was expected.
    pub detail: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Every mistake in the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// A mistake in a configuration, or a warning about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub file: String,
    /// Its line, from 1; 0: the whole file.
    pub line: u32,
    /// Its column, from 1; 0: the whole line.
    pub column: u32,
    /// The key's path: `pool.web.probe.every`.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// What was perhaps meant.
    pub suggestion: Option<String>,
    /// The mistake in a sentence.
    pub message: String,
    /// The lines that `steelyard check` prints about it.
    pub text: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The configuration is refused.
    #[default]
    Error,
    /// It is taken.
    Warning,
}
