//! Health verdicts and the evidence behind them: the types of `health_check`.
//!
//! Plain data: the rules are in `health_check.rs`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::monotonic_time::MonotonicTime;
use crate::snapshot::ServerState;

/// The conclusion of the health checker about a server. A server command (drain, disable) is not a health verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthVerdict {
    Up,
    Down,
    /// No evidence yet, or only the first success after an outage: gets work while no server is up.
    Unknown,
}

impl From<HealthVerdict> for ServerState {
    fn from(verdict: HealthVerdict) -> ServerState {
        match verdict {
            HealthVerdict::Up => ServerState::Up,
            HealthVerdict::Down => ServerState::Down,
            HealthVerdict::Unknown => ServerState::Unknown,
        }
    }
}

/// A changed verdict; the caller publishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthTransition {
    pub from: HealthVerdict,
    pub to: HealthVerdict,
}

/// The source of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceSource {
    /// No evidence: the verdict is the pool's `initial` setting.
    Assumed,
    /// A probe, or a trial connection after a back-off.
    Probe,
    /// Connections made for clients.
    Passive,
}

/// The latest evidence about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictEvidence {
    pub basis: EvidenceSource,
    /// Whether the check succeeded.
    pub good: bool,
    /// For people: "HTTP 200 in 1.3 ms", "connection refused".
    pub text: String,
    pub at: MonotonicTime,
    /// Number of consecutive results of the same kind (good or bad), including this one; 0 when assumed.
    pub streak: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeSuccess {
    /// The observed result, for people.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeFailure {
    pub text: String,
}

/// A verdict that is passed to another process, whose monotonic clock has another origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HealthSnapshot {
    pub state: HealthVerdict,
    /// How long it has held.
    pub held: Duration,
    /// The source of the last evidence.
    pub basis: EvidenceSource,
    /// Whether that check succeeded.
    pub good: bool,
    pub text: String,
    pub age: Duration,
    /// Number of consecutive results of the same kind.
    pub streak: u32,
}
