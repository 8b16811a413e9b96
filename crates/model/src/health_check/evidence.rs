//! What a judgement rests on: the vocabulary of `health`.
//!
//! It judges nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::monotonic_time::MonotonicTime;
use crate::snapshot::ServerState;

/// What a server's health is judged to be. What an operator ordered (drain, disabled) is not health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthVerdict {
    /// Takes work.
    Up,
    /// Takes none.
    Down,
    /// No evidence yet, or only the first good sign after an outage: takes work while nothing is up.
    Unknown,
}

impl From<HealthVerdict> for ServerState {
    fn from(judged: HealthVerdict) -> ServerState {
        match judged {
            HealthVerdict::Up => ServerState::Up,
            HealthVerdict::Down => ServerState::Down,
            HealthVerdict::Unknown => ServerState::Unknown,
        }
    }
}

/// A judgement that changed; the caller publishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthTransition {
    pub from: HealthVerdict,
    /// What it is now.
    pub to: HealthVerdict,
}

/// Where evidence comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceSource {
    /// Nowhere: the pool's `initial` says what a server is until there is some.
    Assumed,
    /// A probe, or a trial connection after a back-off.
    Probe,
    /// Connections made for clients.
    Passive,
}

/// The last thing that was learned of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictEvidence {
    /// Where it comes from.
    pub basis: EvidenceSource,
    /// It speaks for the server.
    pub good: bool,
    /// In words, for people: "HTTP 200 in 1.3 ms", "connection refused".
    pub text: String,
    /// When it was learned.
    pub at: MonotonicTime,
    /// How many of the same kind (good or bad) came in a row, this one included; 0 when assumed.
    pub streak: u32,
}

/// A probe that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeSuccess {
    /// What was seen, in words.
    pub text: String,
}

/// A probe that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeFailure {
    pub text: String,
}

/// A judgement on its way to another process, whose clock has another origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HealthSnapshot {
    /// What it was judged to be.
    pub state: HealthVerdict,
    /// For how long.
    pub held: Duration,
    /// Where the last evidence came from.
    pub basis: EvidenceSource,
    /// It spoke for the server.
    pub good: bool,
    /// In words.
    pub text: String,
    /// How old it was.
    pub age: Duration,
    /// How many of the same kind came in a row.
    pub streak: u32,
}
