//! The planes behind the reconciler's seam: what it orders, handed on to whoever carries it out.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use l7::Plane;
use model::config::Config;
use model::id::{ListenerId, ServerId, ServiceId};
use model::snapshot::Snapshot;

use crate::packets;
use crate::reconcile::engine::Engine;

/// Workers cut by themselves so much after the limit: whoever leaves looks at what is left before, and then cuts.
const LATER: Duration = Duration::from_millis(100);

/// Both planes.
pub struct Carrier {
    /// Proxied services.
    pub plane: Arc<Plane>,
    /// Packet services.
    pub packets: packets::order::Orders,
}

impl Engine for Carrier {
    fn ahead(&self, snapshot: Arc<Snapshot>, config: Arc<Config>) -> BoxFuture<'static, ()> {
        Box::pin(self.packets.clone().ahead(snapshot, config))
    }
    fn install(&self, snapshot: Arc<Snapshot>) {
        self.plane.install(snapshot);
    }
    fn installed(&self) -> u64 {
        self.plane.installed()
    }
    fn listen(&self, id: ListenerId, service: ServiceId, sockets: Vec<OwnedFd>) {
        self.plane.listen(id, service, sockets);
    }
    fn unlisten(&self, id: ListenerId, accept_rest: bool) {
        self.plane.unlisten(id, accept_rest);
    }
    fn cut(&self, server: ServerId) {
        self.plane.cut(server);
    }
    fn drain(&self, limit: Duration) {
        self.plane.drain(limit.saturating_add(LATER));
    }
}
