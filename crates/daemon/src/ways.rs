//! By which ways packets leave this machine: bundles, uplinks and Multipath TCP, started and ended together. Each sees to
//! itself.

use crate::control::Control;
use crate::{links, mptcp, uplinks};

/// All of them.
#[derive(Debug)]
pub struct Ways {
    /// Bundles of links.
    pub links: links::Handle,
    /// Uplinks.
    pub uplinks: uplinks::Handle,
    /// Multipath TCP.
    pub mptcp: mptcp::Handle,
}

impl Ways {
    /// Starts them; each follows `control`.
    pub fn start(control: &Control) -> Ways {
        Ways {
            links: links::Handle::start(control.clone()),
            uplinks: uplinks::Handle::start(control.clone()),
            mptcp: mptcp::Handle::start(control.clone()),
        }
    }

    /// Ends them. `give`: what they set is removed; otherwise packets go on as they do now.
    pub async fn end(&mut self, give: bool) {
        self.mptcp.end(give).await;
        self.uplinks.end(give).await;
        self.links.end(give).await;
    }
}
