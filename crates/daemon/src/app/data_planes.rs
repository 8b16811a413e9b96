//! The planes as the reconciler sees them: passes its calls to the request plane and the packet plane.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use l7::RequestPlane;
use model::config::Config;
use model::id::{ListenerId, ServerId, ServiceId};
use model::snapshot::WorkerSnapshot;

use crate::control::reconcile::traffic_engine::TrafficEngine;
use crate::planes::packets;

/// Workers reset connections this long after the limit, so that the process has counted the open connections by then.
const WORKER_RESET_DELAY: Duration = Duration::from_millis(100);

pub struct DataPlanes {
    pub proxy: Arc<RequestPlane>,
    pub packets: packets::order::PlaneCommandSender,
}

impl TrafficEngine for DataPlanes {
    fn forward_early(
        &self,
        snapshot: Arc<WorkerSnapshot>,
        config: Arc<Config>,
    ) -> BoxFuture<'static, ()> {
        Box::pin(self.packets.clone().forward_early(snapshot, config))
    }
    fn install(&self, snapshot: Arc<WorkerSnapshot>) {
        self.proxy.install(snapshot);
    }
    fn installed_version(&self) -> u64 {
        self.proxy.installed_version()
    }
    fn listen(&self, id: ListenerId, service: ServiceId, sockets: Vec<Arc<OwnedFd>>) {
        self.proxy.listen(id, service, sockets);
    }
    fn unlisten(&self, id: ListenerId, accept_rest: bool) {
        self.proxy.unlisten(id, accept_rest);
    }
    fn reset_server_connections(&self, server: ServerId) {
        self.proxy.abort_server(server);
    }
    fn drain(&self, limit: Duration) {
        self.proxy.drain(limit.saturating_add(WORKER_RESET_DELAY));
    }
}
