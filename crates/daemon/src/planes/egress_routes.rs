//! How packets leave this machine: bundles, uplinks and Multipath TCP, started and ended together.

use crate::planes::{links, mptcp, uplinks};
use crate::state::ControlHandle;

#[derive(Debug)]
pub struct EgressRoutes {
    pub links: links::LinksHandle,
    pub uplinks: uplinks::UplinksHandle,
    pub mptcp: mptcp::MptcpHandle,
}

impl EgressRoutes {
    /// Starts them; each follows `control`.
    pub fn start(control: &ControlHandle) -> EgressRoutes {
        EgressRoutes {
            links: links::LinksHandle::start(control.clone()),
            uplinks: uplinks::UplinksHandle::start(control.clone()),
            mptcp: mptcp::MptcpHandle::start(control.clone()),
        }
    }

    /// Ends the planes. With `give`, everything they set is removed; otherwise packets are routed as before.
    pub async fn shut_down(&mut self, give: bool) {
        self.mptcp.shut_down(give).await;
        self.uplinks.shut_down(give).await;
        self.links.end(give).await;
    }
}
