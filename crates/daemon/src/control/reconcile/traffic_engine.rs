//! The seam between the reconciler and the planes: what it asks of them, so that tests can stand in.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use model::config::Config;
use model::id::{ListenerId, ServerId, ServiceId};
use model::snapshot::WorkerSnapshot;

/// Carries the traffic. No call blocks.
pub trait TrafficEngine: Send + Sync + 'static {
    /// Forwards packets by this snapshot before the listeners close that packet services replace. Completes when
    /// packets are forwarded, or when that fails or takes too long.
    fn forward_early(
        &self,
        snapshot: Arc<WorkerSnapshot>,
        config: Arc<Config>,
    ) -> BoxFuture<'static, ()>;
    /// Gives every worker this snapshot.
    fn install(&self, snapshot: Arc<WorkerSnapshot>);
    /// The lowest version that any worker has installed.
    fn installed_version(&self) -> u64;
    /// Begins to accept on these sockets for a service of the snapshot.
    fn listen(&self, id: ListenerId, service: ServiceId, sockets: Vec<Arc<OwnedFd>>);
    /// Stops accepting. With `accept_rest`, connections in the accept queue are accepted first.
    fn unlisten(&self, id: ListenerId, accept_rest: bool);
    /// Ends all exchanges with a server.
    fn reset_server_connections(&self, server: ServerId);
    /// Connections end as their exchanges do, within `limit`.
    fn drain(&self, limit: Duration);
}
