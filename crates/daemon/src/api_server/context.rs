//! What the routes act on. It holds no state of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::idempotency::IdempotencyStore;
use super::lease_server::LeaseServer;
use super::live_feed::LiveFeed;
use crate::observability::history::HistoryRecorder;
use crate::observability::report::report_sources::ReportSources;
use crate::planes::vrrp::command::VrrpCommandSender;

/// A request to stop the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopRequest {
    /// How long exchanges may finish; `None`: as configured.
    pub limit: Option<Duration>,
    /// Packets go on being forwarded.
    pub detach: bool,
}

/// Called when the API receives a request to stop the process.
pub type StopCallback = Box<dyn Fn(StopRequest) + Send + Sync>;

/// The state that routes read and change.
pub struct ApiContext {
    pub report_sources: Arc<ReportSources>,
    /// State and rates for subscribers of the live feed.
    pub live: Arc<LiveFeed>,
    pub history: Arc<HistoryRecorder>,
    /// Takes shared addresses over.
    pub vrrp: VrrpCommandSender,
    /// Leases that this daemon grants as the witness of other pairs.
    pub lease_server: LeaseServer,
    /// Requests with keys that were carried out.
    pub idempotency: Arc<IdempotencyStore>,
    /// The file that `reload` reads; `None`: the configuration came without one.
    pub config_file: Option<PathBuf>,
    /// Requests the process to stop.
    pub stop: StopCallback,
}
