//! What becomes of servers without an order: windows open and close, limits end, the last client goes. Each is recorded.
//!
//! What it comes to is `reconcile::server`'s.

use std::sync::Arc;
use std::time::SystemTime;

use model::id::ServerId;

use super::actor::Actor;
use super::origin::{Origin, Way};
use super::picture::ServerFacts;
use super::record::words;
use crate::local_time::offset_seconds;
use crate::reconcile::server::{self, summary};
use crate::report::vitals::unix_ms;
use crate::wall_clock::Step;

impl Actor {
    /// Time has passed.
    pub(super) fn tick(&mut self) {
        let now = SystemTime::now();
        if let Some(step) = self.clock.look(now, crate::vrrp::now()) {
            self.clock_was_set(step, now);
        }
        let utc = i64::try_from(unix_ms(now) / 1000).unwrap_or(0);
        let local = utc + offset_seconds(utc);
        let entries = self.book.servers.iter();
        let due = entries
            .filter_map(|(id, entry)| Some((*id, server::ticked(&entry.facts, now, local)?)))
            .collect::<Vec<_>>();
        if self.look_at_file() {
            self.publish();
        }
        if !due.is_empty() {
            self.becomes(due, "clock");
        } else if self.words.is_due(now) {
            // What probes found out meanwhile is to outlive a kill, too.
            self.keep_words();
        }
    }

    /// What was to last for a time lasts so long, whatever the clock says; what was to end at a time of day ends then.
    fn clock_was_set(&mut self, step: Step, now: SystemTime) {
        let (how, by) = match step {
            Step::Ahead(by) => ("ahead", by),
            Step::Back(by) => ("back", by),
        };
        let text = format!("the clock was set {how} by {} s", by.as_secs());
        self.events.warn("clock-set", text);
        let entries = self.book.servers.iter();
        let timed: Vec<ServerId> = entries
            .filter(|(_, entry)| {
                entry.facts.hand.quiesce.is_some() || entry.facts.ejected.is_some()
            })
            .map(|(id, _)| *id)
            .collect();
        let before = self.book.clone();
        for id in timed {
            self.server(id, |facts| server::shifted(facts, step, now));
        }
        self.show(&before);
    }

    /// The last clients of these servers have gone.
    pub(super) fn emptied(&mut self, servers: &[ServerId]) {
        let now = SystemTime::now();
        let due = servers.iter().filter_map(|id| {
            let entry = self.book.servers.get(id)?;
            Some((*id, server::emptied(&entry.facts, now)?))
        });
        let due: Vec<_> = due.collect();
        if !due.is_empty() {
            self.becomes(due, "last-client-gone");
        }
    }

    fn becomes(&mut self, due: Vec<(ServerId, ServerFacts)>, action: &str) {
        let before = self.book.clone();
        for (id, after) in due {
            let Some(old) = before.servers.get(&id).map(|entry| Arc::clone(&entry.facts)) else {
                continue;
            };
            let reversal = words(&old, &after);
            let (was, is) = (summary(&old), summary(&after));
            let target = format!("{}/{}", after.pool_name, after.config.name);
            self.server(id, |_| after);
            let origin = Origin::new("clock", Way::Clock);
            self.note(&origin, (action, &target), (&was, &is), None, Some(reversal));
        }
        self.show(&before);
        self.keep_words();
    }
}
