//! Applies the results of service discovery. An unchanged result changes nothing; an untrusted result leaves the last
//! good result active.

use model::config::{CheckedConfig, EventLevel};

use super::actor::ControlActor;
use super::audit_record::AuditedChange;
use crate::state::discovery_result::DiscoveryResult;
use crate::state::origin::{ChangeOrigin, ChangeTrigger};
use crate::state::overlay::ServerOverlay;
use crate::util::event::EventFields;

/// Servers that a message names.
const NAMED: usize = 5;

impl ControlActor {
    /// The server overlay of a configuration that is to be activated.
    pub(super) fn overlay_for(&self, checked: &CheckedConfig) -> ServerOverlay {
        self.overlay.for_config(checked).with_file_servers(&self.active.checked.config, checked)
    }

    /// Applies the answer of a discovery source.
    pub(super) async fn apply_discovery(&mut self, answer: DiscoveryResult) {
        let DiscoveryResult { pool, source: place, servers, left_out } = answer;
        let known =
            self.applied.pools.get(&pool).is_some_and(|entry| entry.config.discovery.is_some());
        // Answers are ignored during a takeover: the new process does its own discovery.
        if !known || self.handing_over {
            return;
        }
        let about = |reason: &str| {
            EventFields::from([
                ("pool", pool.clone()),
                ("place", place.clone()),
                ("reason", reason.to_owned()),
            ])
        };
        let servers = match servers {
            Ok(servers) => servers,
            Err(why) => {
                let why = format!("{place}: {why}");
                if self.sources.get(&pool) != Some(&why) {
                    let text = format!("{pool}: {why}; the servers that were found last stay");
                    self.events.emit(EventLevel::Warning, "source-failed", text, about(&why));
                    self.sources.insert(pool, why);
                    self.publish();
                }
                return;
            }
        };
        let recovered = self.sources.remove(&pool).is_some();
        let before = self.overlay.found.iter().find(|entry| entry.pool == pool);
        let before = before.map(|entry| entry.servers.clone()).unwrap_or_default();
        if before == servers {
            if recovered {
                self.publish();
            }
            return;
        }
        let name = |all: &[crate::state::overlay::DiscoveredServer]| {
            let some: Vec<&str> =
                all.iter().take(NAMED).map(|entry| entry.address.as_str()).collect();
            let more = all.len().saturating_sub(NAMED);
            if more > 0 { format!("{} and {more} more", some.join(", ")) } else { some.join(", ") }
        };
        let was = name(&before);
        let is = name(&servers);
        if left_out > 0 {
            let text = format!(
                "{pool}: {place} has {left_out} servers more than `max`; they are left out"
            );
            self.events.emit(EventLevel::Warning, "source-clamped", text, about("too many"));
        }
        let overlay = self.overlay.with_discovered(&pool, servers);
        if let Err(error) = self.apply_overlay(overlay).await {
            let text = format!("{pool}: what {place} says cannot be activated: {error}");
            self.events.emit(EventLevel::Warning, "source-failed", text, about("not active"));
            return;
        }
        let text = format!("{pool}: {place} says {is}");
        self.events.emit(EventLevel::Info, "source-changed", text, about("changed"));
        let origin = ChangeOrigin::new(place, ChangeTrigger::Source);
        let change = AuditedChange {
            action: "found",
            target: &pool,
            before: &was,
            after: &is,
            part_of: None,
        };
        self.record_change(&origin, change, None, None);
    }
}
