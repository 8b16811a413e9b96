//! What went wrong: RFC 9457 problem details, with the configuration's findings where there are any.
//!
//! A problem says what was asked, what stood against it and what to do. It carries no stack and no internals.

use model::config::ConfigFinding;
use serde::{Deserialize, Serialize};

/// Body of every answer that is not a success, as `application/problem+json` (RFC 9457 §3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Problem {
    /// Type of the problem, as a relative reference: `/problems/generation-moved`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The type as text.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// What happened: where, what was found, what was expected.
    pub detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Mistakes in the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ConfigFinding>,
    /// Number of further mistakes that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub unlisted: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
