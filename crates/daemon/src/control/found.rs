//! What sources of servers say, put in force: an answer that says the same changes nothing, one that is not believed
//! leaves the last good one.

use model::config::Checked;

use super::actor::Actor;
use super::origin::{Origin, Way};
use super::sighting::Found;
use crate::event::Level;
use crate::reconcile::overlay::Overlay;

/// Servers that a message names.
const NAMED: usize = 5;

impl Actor {
    /// What differs from the file under a configuration that is to be in force.
    pub(super) fn laid_over(&self, checked: &Checked) -> Overlay {
        self.overlay.under(checked).until_found(&self.force.checked.config, checked)
    }

    /// Takes in what a source said.
    pub(super) async fn found(&mut self, found: Found) {
        let Found { pool, place, servers, left_out } = found;
        let known = self.book.pools.get(&pool).is_some_and(|it| it.config.discovery.is_some());
        // Nothing is taken in while another process takes over: it looks for itself.
        if !known || self.handing {
            return;
        }
        let about = |what: &str| {
            [("pool", pool.clone()), ("place", place.clone()), ("reason", what.to_owned())]
        };
        let servers = match servers {
            Ok(servers) => servers,
            Err(why) => {
                let why = format!("{place}: {why}");
                if self.sources.get(&pool) != Some(&why) {
                    let text = format!("{pool}: {why}; the servers that were found last stay");
                    self.events.tell(Level::Warning, "source-failed", text, &about(&why));
                    self.sources.insert(pool, why);
                    self.publish();
                }
                return;
            }
        };
        let recovered = self.sources.remove(&pool).is_some();
        let before = self.overlay.found.iter().find(|it| it.pool == pool);
        let before = before.map(|it| it.servers.clone()).unwrap_or_default();
        if before == servers {
            if recovered {
                self.publish();
            }
            return;
        }
        let name = |all: &[crate::reconcile::overlay::FoundServer]| {
            let some: Vec<&str> = all.iter().take(NAMED).map(|it| it.address.as_str()).collect();
            let more = all.len().saturating_sub(NAMED);
            if more > 0 { format!("{} and {more} more", some.join(", ")) } else { some.join(", ") }
        };
        let (was, is) = (name(&before), name(&servers));
        if left_out > 0 {
            let text = format!(
                "{pool}: {place} has {left_out} servers more than `max`; they are left out"
            );
            self.events.tell(Level::Warning, "source-clamped", text, &about("too many"));
        }
        let overlay = self.overlay.with_found(&pool, servers);
        if let Err(error) = self.refit(overlay).await {
            let text = format!("{pool}: what {place} says cannot be put in force: {error}");
            self.events.tell(Level::Warning, "source-failed", text, &about("not in force"));
            return;
        }
        let text = format!("{pool}: {place} says {is}");
        self.events.tell(Level::Info, "source-changed", text, &about("changed"));
        let origin = Origin::new(place, Way::Source);
        self.note(&origin, ("found", &pool), (&was, &is), None, None);
    }
}
