//! The daemon's answers at one time, and the views that they fill.

use api::types::{Report, Status};

use super::tab::Tab;

/// States, and counts with their rates.
#[derive(Clone, Debug)]
pub struct TopSnapshot {
    pub status: Status,
    pub report: Report,
}

impl TopSnapshot {
    /// The views that there is something for.
    pub fn tabs(&self) -> Vec<Tab> {
        let mut tabs = vec![Tab::Services, Tab::Servers, Tab::Causes];
        if self.status.packets.is_some() || self.report.packets.is_some() {
            tabs.push(Tab::Packets);
        }
        if !self.status.vrrp.is_empty() {
            tabs.push(Tab::Shared);
        }
        tabs
    }
}
