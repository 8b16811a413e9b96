//! What the routes act on. It holds no state of its own.

use std::sync::Arc;
use std::time::Duration;

use super::idempotency::IdempotencyStore;
use super::lease_server::LeaseServer;
use super::live_feed::LiveFeed;
use crate::observability::history::HistoryRecorder;
use crate::observability::report::report_sources::ReportSources;
use crate::planes::vrrp::command::VrrpCommandSender;

/// How the process is asked to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopRequest {
    /// How long exchanges may finish; `None`: as configured.
    pub limit: Option<Duration>,
    /// Packets go on being forwarded.
    pub detach: bool,
}

/// Called when the process is asked to leave.
pub type StopCallback = Box<dyn Fn(StopRequest) + Send + Sync>;

/// What the routes act on.
pub struct ApiContext {
    /// The daemon and its own facts.
    pub report_sources: Arc<ReportSources>,
    /// State and rates for those who watch.
    pub live: Arc<LiveFeed>,
    pub history: Arc<HistoryRecorder>,
    /// Takes shared addresses over.
    pub vrrp: VrrpCommandSender,
    /// What this daemon gives as the witness of others.
    pub lease_server: LeaseServer,
    /// Requests with keys that were carried out.
    pub idempotency: Arc<IdempotencyStore>,
    /// Asks the process to leave.
    pub stop: StopCallback,
}
