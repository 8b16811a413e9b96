//! What the prober reports to the control actor, and which report replaces which.

use model::id::ServerId;

use crate::state::{HealthReport, ServerAgentReport};

/// A result for the control actor.
#[derive(Debug)]
pub(super) enum ProberReport {
    /// Of a server's health.
    Health(HealthReport),
    /// A report of an agent.
    Agent(ServerAgentReport),
}

/// Whose report waits: for each server, a verdict and the report of its agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PendingReportKey {
    server: ServerId,
    from_agent: bool,
}

impl ProberReport {
    /// A newer report with the same key makes this one obsolete.
    pub(super) fn key(&self) -> PendingReportKey {
        match self {
            ProberReport::Health(verdict) => {
                PendingReportKey { server: verdict.server, from_agent: false }
            }
            ProberReport::Agent(report) => {
                PendingReportKey { server: report.server, from_agent: true }
            }
        }
    }
}
