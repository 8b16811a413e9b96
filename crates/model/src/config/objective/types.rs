//! The checked configuration of a service's SLO.
//!
//! `model::slo` measures the results.

use serde::Serialize;
use std::time::Duration;

/// The SLO of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceObjective {
    /// The longest duration of a fast operation; `None`: no latency objective.
    pub fast: Option<Duration>,
    /// Objective for fast operations, parts per million; default 990,000.
    pub share: u32,
    /// Objective for successful operations, parts per million; default 999,000. `None`: no availability objective.
    pub available: Option<u32>,
    /// The SLO window; default 30 days.
    pub window: Duration,
    /// An alarm needs at least this many bad operations in its longer window; default 10.
    pub at_least: u32,
    /// Limit for client networks that are counted separately; default 64.
    pub networks: u32,
    /// IPv4 prefix length of a client's network; default 24.
    pub mask4: u8,
    /// IPv6 prefix length of a client's network; default 56.
    pub mask6: u8,
}
