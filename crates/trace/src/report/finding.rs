//! Findings in reports.

use model::limit::{Limit, TimeOwner};
use serde::Serialize;

use super::bands::{TimeLocation, TimeOwners};
use super::failure::{FailureFinding, FirstCause};

/// The bottlenecks, the most significant first.
#[derive(Clone, Debug, Serialize)]
pub struct TimeDiagnosis {
    /// The users' wait in all transactions together.
    pub total_seconds: f64,
    /// The clients' pauses between turns (`CLIENT_THINK`), which are no part of the wait.
    pub pause_seconds: f64,
    /// Where it went by.
    pub location: TimeLocation,
    pub owners: TimeOwners,
    /// The first failure, else the most significant bottleneck.
    pub first_cause: Option<FirstCause>,
    /// Connections that failed, the most frequent first.
    pub failures: Vec<FailureFinding>,
    /// Whether no change is worthwhile.
    pub healthy: bool,
    /// The most significant bottleneck.
    pub most_significant: Option<BottleneckFinding>,
    /// The next bottlenecks, until they are insignificant.
    pub next: Vec<BottleneckFinding>,
    /// The first finding about the transport, excluding think time and the path's length.
    pub first_among_transport: Option<Limit>,
    /// The first limit of the transport after the most significant bottleneck.
    pub next_among_transport: Option<Limit>,
}

#[derive(Clone, Debug, Serialize)]
pub struct BottleneckFinding {
    /// Where in transactions: `setup`, `request`, `server`, `response` or `path`.
    pub phase: &'static str,
    pub code: Limit,
    pub owner: TimeOwner,
    pub seconds: f64,
    /// Share of the time in which something was done: transactions without the path's length.
    pub share: f64,
    /// Share of all that users waited.
    pub share_of_total: f64,
    /// The time that a change would save.
    pub saving_seconds: f64,
    /// A contradiction that explains it.
    pub flag: Option<&'static str>,
    /// How the contradiction is explained.
    pub hint: Option<String>,
    /// The estimated size of the sender's buffer in bytes.
    pub cap_bytes: Option<i64>,
    /// The receiver's window, bytes.
    pub window: Option<i64>,
    /// Another possible cause, where the capture cannot decide.
    pub alternative: Option<String>,
    pub sentence: String,
    pub fix: String,
    /// Where to see it.
    pub evidence: EvidenceReport,
}

/// Where to see a finding.
#[derive(Clone, Debug, Serialize)]
pub struct EvidenceReport {
    /// Number of the connection that shows it best.
    pub connection: u32,
    /// Number of the packet before the longest such time.
    pub from_packet: u32,
    /// Number of the packet behind it.
    pub to_packet: u32,
    /// When that time began.
    pub start_seconds: f64,
    /// How long it was.
    pub longest_seconds: f64,
    /// How often it happened.
    pub times: u32,
    /// The display filter of Wireshark that shows these packets.
    pub filter: String,
}
