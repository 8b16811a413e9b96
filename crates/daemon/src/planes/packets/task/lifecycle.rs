//! Opens the plane, leaves it, and takes it down. It writes no table.

use std::time::Instant;

use bpf::{ClaimError, PinDirectoryError};
use model::config::Config;

use super::PacketPlaneTask;
use crate::planes::packets::open_plane::{OpenPlane, PlaneOpenError, error_chain, remove_pinned};
use crate::planes::packets::order::PlaneExit;
use crate::planes::packets::view::PacketPlaneView;

impl PacketPlaneTask {
    /// Whether there is anything to look at. Without packet services, changes say what is to be done.
    pub(super) fn needs_ticks(&self, config: &Config) -> bool {
        let is_wanted = config.services.values().any(|service| service.packets.is_some());
        is_wanted || self.needs_update || self.open_plane.is_some()
    }

    /// Removes what earlier services left, because no service forwards packets.
    pub(super) fn remove_leftovers(&mut self, config: &Config) -> bool {
        if !self.needs_update {
            return false;
        }
        self.needs_update = false;
        self.kernel = None;
        let removed = match self.open_plane.take() {
            Some(site) => site.remove_all().map(|()| true),
            None => remove_pinned(config),
        };
        match removed {
            Ok(true) => self.events.info("packets-removed", "no service forwards packets any more"),
            Ok(false) => {}
            Err(error) => self.report_error(Some(error_chain(&error))),
        }
        self.tables_changed = true;
        self.view = PacketPlaneView { is_settled: true, ..PacketPlaneView::default() };
        self.evicted = None;
        let cleared = self.alarms.retain(|_| false);
        cleared.into_iter().for_each(|told| self.emit_event(Some(told)));
        true
    }

    /// Opens the plane or takes over the running one; an error is logged and shown.
    pub(super) fn open_plane(&mut self, config: &Config) {
        match OpenPlane::open(config) {
            Ok(site) => {
                let how = if site.is_adopted() { "taken over with its connections" } else { "new" };
                self.events.info("packets-open", format!("the packet plane is {how}"));
                site.warn_if_not_persistent(&self.events);
                self.view.last_error = None;
                self.last_error = None;
                self.view.is_adopted = site.is_adopted();
                self.view.memory = site.memory_bytes();
                self.open_plane = Some(site);
                self.opened_at = Instant::now();
                self.needs_update = true;
                self.network_changed = true;
                self.is_held_by_other = false;
            }
            Err(error) => {
                let why = error_chain(&error);
                self.is_held_by_other = matches!(
                    error,
                    PlaneOpenError::Home(PinDirectoryError::Claim(ClaimError::Locked { .. }))
                );
                self.view.is_settled |= !self.is_held_by_other;
                self.view.last_error = Some(why.clone());
                if !self.is_held_by_other || self.view.is_settled {
                    self.report_error(Some(why));
                }
            }
        }
    }

    /// Leaves the plane, or takes it down.
    pub(super) fn shut_down(&mut self, end: PlaneExit, config: &Config) {
        let site = self.open_plane.take();
        if end == PlaneExit::Detach {
            return;
        }
        let removed = match site {
            Some(site) => site.remove_all().map(|()| true),
            None => remove_pinned(config),
        };
        if let Err(error) = removed {
            self.events.error("packets-failed", error_chain(&error));
        }
    }
}
