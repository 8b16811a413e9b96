//! Opens the plane, leaves it, and takes it down. It writes no table.

use std::time::Instant;

use bpf::{ClaimError, HomeError};
use model::config::Config;

use super::Life;
use crate::packets::order::End;
use crate::packets::site::{OpenError, Site, chain, remove_pinned};
use crate::packets::view::View;

impl Life {
    /// No service forwards packets: what is left of earlier ones goes.
    pub(super) fn nothing(&mut self, config: &Config) -> bool {
        if !self.dirty {
            return false;
        }
        self.dirty = false;
        self.kernel = None;
        let removed = match self.site.take() {
            Some(site) => site.remove().map(|()| true),
            None => remove_pinned(config),
        };
        match removed {
            Ok(true) => self.events.info("packets-removed", "no service forwards packets any more"),
            Ok(false) => {}
            Err(error) => self.tell(Some(chain(&error))),
        }
        self.renewed = true;
        self.view = View { settled: true, ..View::default() };
        self.evicted = None;
        let cleared = self.alarms.keep(|_| false);
        cleared.into_iter().for_each(|told| self.raise(Some(told)));
        true
    }

    /// Opens the plane or takes over the one that runs; why it cannot is told and shown.
    pub(super) fn open(&mut self, config: &Config) {
        match Site::open(config) {
            Ok(site) => {
                let how = if site.adopted() { "taken over with its connections" } else { "new" };
                self.events.info("packets-open", format!("the packet plane is {how}"));
                site.warn(&self.events);
                (self.view.broken, self.told) = (None, None);
                (self.view.adopted, self.view.memory) = (site.adopted(), site.memory());
                self.site = Some(site);
                self.opened = Instant::now();
                (self.dirty, self.moved, self.held) = (true, true, false);
            }
            Err(error) => {
                let why = chain(&error);
                self.held =
                    matches!(error, OpenError::Home(HomeError::Claim(ClaimError::Held { .. })));
                self.view.settled |= !self.held;
                self.view.broken = Some(why.clone());
                if !self.held || self.view.settled {
                    self.tell(Some(why));
                }
            }
        }
    }

    /// Leaves the plane, or takes it down.
    pub(super) fn end(&mut self, end: End, config: &Config) {
        let site = self.site.take();
        if end == End::Detach {
            return;
        }
        let removed = match site {
            Some(site) => site.remove().map(|()| true),
            None => remove_pinned(config),
        };
        if let Err(error) = removed {
            self.events.error("packets-failed", chain(&error));
        }
    }
}
