//! The seam between the reconciler and the planes: what it asks of them, so that tests can stand in.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use model::config::Config;
use model::id::{ListenerId, ServerId, ServiceId};
use model::snapshot::WorkerSnapshot;

/// What carries the traffic. No call blocks.
pub trait TrafficEngine: Send + Sync + 'static {
    /// Forwards packets as this says, before listeners close whose place packet services take. Ends when that is so, or
    /// cannot be had in time.
    fn forward_early(
        &self,
        snapshot: Arc<WorkerSnapshot>,
        config: Arc<Config>,
    ) -> BoxFuture<'static, ()>;
    /// Gives every worker this snapshot.
    fn install(&self, snapshot: Arc<WorkerSnapshot>);
    /// The lowest version in force in any worker.
    fn installed_version(&self) -> u64;
    /// Begins to accept on these sockets for a service of the snapshot.
    fn listen(&self, id: ListenerId, service: ServiceId, sockets: Vec<OwnedFd>);
    /// Stops accepting; `accept_rest`: what waits in the queue is taken first.
    fn unlisten(&self, id: ListenerId, accept_rest: bool);
    /// Ends what is under way with a server that is to lose its connections.
    fn reset_server_connections(&self, server: ServerId);
    /// Connections end as their exchanges do, within `limit`.
    fn drain(&self, limit: Duration);
}
