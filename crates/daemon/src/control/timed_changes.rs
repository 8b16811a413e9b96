//! Changes of servers without a command: windows open and close, limits end, the last client goes. Each is recorded.
//!
//! The resulting state is computed in `state::server_state`.

use std::sync::Arc;
use std::time::SystemTime;

use model::id::ServerId;

use super::actor::ControlActor;
use super::audit_record::{AuditedChange, command_undo};
use crate::state::origin::{ChangeOrigin, ChangeTrigger};
use crate::state::server_state;
use crate::state::server_text::describe_server;
use crate::state::state_snapshot::ServerFacts;
use crate::util::local_time::offset_seconds;
use crate::util::memory_footprint::release_freed_memory;
use crate::util::monotonic_clock::monotonic_now;
use crate::util::wall_clock::ClockStep;
use crate::util::wall_clock::unix_ms;

impl ControlActor {
    pub(super) fn tick(&mut self) {
        let now = SystemTime::now();
        if let Some(step) = self.clock.detect_step(now, monotonic_now()) {
            self.handle_clock_step(step, now);
        }
        let utc = i64::try_from(unix_ms(now) / 1000).unwrap_or(0);
        let local = utc + offset_seconds(utc);
        let entries = self.applied.servers.iter();
        let due = entries
            .filter_map(|(id, entry)| {
                Some((*id, server_state::apply_tick(&entry.facts, now, local)?))
            })
            .collect::<Vec<_>>();
        if self.refresh_file_drift() {
            self.publish();
        }
        // What a change has freed is given back once, also after many in a row.
        if std::mem::take(&mut self.has_freed_memory) {
            release_freed_memory();
        }
        if !due.is_empty() {
            self.apply_transitions(due, "clock");
        } else if self.state_file.is_due(now) {
            // Health results survive a kill of the process too.
            self.save_server_state();
        }
    }

    /// When the clock is set, a limit by duration retains its duration, and a limit by time of day retains its time.
    fn handle_clock_step(&mut self, step: ClockStep, now: SystemTime) {
        let (how, by) = match step {
            ClockStep::Ahead(by) => ("ahead", by),
            ClockStep::Back(by) => ("back", by),
        };
        let text = format!("the clock was set {how} by {} s", by.as_secs());
        self.events.warn("clock-set", text);
        let entries = self.applied.servers.iter();
        let timed: Vec<ServerId> = entries
            .filter(|(_, entry)| {
                entry.facts.overrides.quiesce.is_some() || entry.facts.ejection.is_some()
            })
            .map(|(id, _)| *id)
            .collect();
        let before = self.applied.clone();
        for id in timed {
            self.update_server(id, |facts| server_state::apply_clock_step(facts, step, now));
        }
        self.publish_changes(&before);
    }

    /// The last clients of these servers have disconnected.
    pub(super) fn finish_quiesce(&mut self, servers: &[ServerId]) {
        let now = SystemTime::now();
        let due = servers.iter().filter_map(|id| {
            let entry = self.applied.servers.get(id)?;
            Some((*id, server_state::apply_clients_gone(&entry.facts, now)?))
        });
        let due: Vec<_> = due.collect();
        if !due.is_empty() {
            self.apply_transitions(due, "last-client-gone");
        }
    }

    fn apply_transitions(&mut self, due: Vec<(ServerId, ServerFacts)>, action: &str) {
        let before = self.applied.clone();
        for (id, after) in due {
            let Some(old) = before.servers.get(&id).map(|entry| Arc::clone(&entry.facts)) else {
                continue;
            };
            let reversal = command_undo(&old, &after);
            let was = describe_server(&old);
            let is = describe_server(&after);
            let target = format!("{}/{}", after.pool_name, after.config.name);
            self.update_server(id, |_| after);
            let origin = ChangeOrigin::new("clock", ChangeTrigger::Clock);
            let change =
                AuditedChange { action, target: &target, before: &was, after: &is, part_of: None };
            self.record_change(&origin, change, None, Some(reversal));
        }
        self.publish_changes(&before);
        self.save_server_state();
    }
}
