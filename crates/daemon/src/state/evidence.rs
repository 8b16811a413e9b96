//! What was seen of a server's health.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::util::duration_text::format_duration;

/// A piece of evidence about a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EvidenceEntry {
    /// The probe behind the evidence, as `http GET /healthz at 10.0.0.11:8080`; `None`: clients' connections.
    pub probe: Option<String>,
    /// The observation, without its duration.
    pub saw: String,
    /// The duration; `None`: not measured.
    pub took: Option<Duration>,
    /// Whether it was a success.
    pub good: bool,
    /// This many results of the same kind in a row.
    pub in_a_row: u32,
    pub at: SystemTime,
}

impl EvidenceEntry {
    pub fn describe(&self) -> String {
        match self.took.filter(|_| self.good) {
            Some(took) => format!("{} in {}", self.saw, format_duration(took)),
            // A failure's reason names its duration where that matters.
            None => self.saw.clone(),
        }
    }
}
