//! Checks who sends a change and how far it reaches, before anything of it is done, and records what is rejected.

use model::config::CheckedConfig;

use super::actor::ControlActor;
use super::audit_record::AuditedChange;
use crate::state::change::{ApplyError, ConfigChange};
use crate::state::origin::{ChangeOrigin, ChangeTrigger};

impl ControlActor {
    /// Checks a change before it is carried out. A rejected change is recorded.
    ///
    /// # Errors
    /// The change was made over the API and exceeds the permissions of the file.
    pub(super) fn check_permission(
        &mut self,
        change: &ConfigChange,
        checked: &CheckedConfig,
    ) -> Result<(), ApplyError> {
        match change.origin.way {
            ChangeTrigger::Start | ChangeTrigger::Reload => Ok(()),
            ChangeTrigger::Api
            | ChangeTrigger::Rollback
            | ChangeTrigger::Clock
            | ChangeTrigger::Source => self
                .permissions
                .check(checked)
                .inspect_err(|error| self.record_refusal(&change.origin, error)),
        }
    }

    /// Notes that a change has been activated.
    pub(super) fn allow_file_values(&mut self, way: ChangeTrigger) {
        if matches!(way, ChangeTrigger::Start | ChangeTrigger::Reload) {
            self.permissions.allow_file(&self.active.checked);
        }
    }

    fn record_refusal(&mut self, origin: &ChangeOrigin, error: &ApplyError) {
        let before = format!("generation {}", self.active.generation);
        let text = error.to_string();
        self.events.warn("program-not-allowed", format!("{text} (asked by {origin})"));
        let change = AuditedChange {
            action: "refused",
            target: "configuration",
            before: &before,
            after: &text,
            part_of: None,
        };
        self.record_change(origin, change, None, None);
    }
}
