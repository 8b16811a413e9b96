//! What was seen of a server's health.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::util::duration_text::format_duration;

/// A piece of evidence about a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EvidenceEntry {
    /// The probe that it comes from: `http GET /healthz at 10.0.0.11:8080`; `None`: from clients' connections.
    pub probe: Option<String>,
    /// What was seen, without the time that it took.
    pub saw: String,
    /// How long it took; `None`: nobody measured it.
    pub took: Option<Duration>,
    /// It speaks for the server.
    pub good: bool,
    /// So many of the same kind, good or bad, came in a row.
    pub in_a_row: u32,
    /// When.
    pub at: SystemTime,
}

impl EvidenceEntry {
    pub fn describe(&self) -> String {
        match self.took.filter(|_| self.good) {
            Some(took) => format!("{} in {}", self.saw, format_duration(took)),
            // Why it failed says how long that took, where it matters.
            None => self.saw.clone(),
        }
    }
}
