//! Undoes commands: by the audit record of the state before, and only while the result of the command still stands.
//!
//! Connections that were reset stay so; the command that reset them can be undone.

use std::time::SystemTime;

use super::actor::ControlActor;
use super::audit_record::AuditedChange;
use crate::control::audit::{AuditEntry, UndoAction};
use crate::control::generations::StoredGeneration;
use crate::state::origin::ChangeOrigin;
use crate::state::saved_state::{restore_overrides, saved_overrides};
use crate::state::server_command::{UndoError, UndoOutcome, UndoneCommand};
use crate::state::server_text::format_address;
use crate::util::atomic_file;

impl ControlActor {
    /// Takes an order back; `None`: all of the latest command that can be.
    pub(super) async fn undo(
        &mut self,
        id: Option<u64>,
        origin: ChangeOrigin,
    ) -> Result<UndoOutcome, UndoError> {
        if self.handing_over {
            return Err(UndoError::HandingOver);
        }
        let entries = match id {
            Some(id) => vec![self.audit.find(id).ok_or(UndoError::Unknown(id))?.clone()],
            None => self.audit.latest_command().into_iter().cloned().collect(),
        };
        let mut undone = Vec::new();
        for entry in entries {
            match self.undo_order(entry, origin.clone()).await {
                Ok(order) => undone.push(order),
                Err(error) if undone.is_empty() => return Err(error),
                Err(error) => return Ok(UndoOutcome { undone, failed: Some(error) }),
            }
        }
        match undone.is_empty() {
            true => Err(UndoError::Nothing),
            false => Ok(UndoOutcome { undone, failed: None }),
        }
    }

    async fn undo_order(
        &mut self,
        entry: AuditEntry,
        origin: ChangeOrigin,
    ) -> Result<UndoneCommand, UndoError> {
        let AuditEntry { record, reversal } = entry;
        let reversal = reversal.ok_or(UndoError::Cannot(record.id))?;
        let moved = || UndoError::Moved(record.id, record.target.clone());
        let mut saved = None;
        let back = match reversal {
            UndoAction::Words { before, after } => {
                let facts = self.applied.servers.values().map(|entry| &entry.facts);
                let mut same = facts.filter(|facts| {
                    facts.pool_name == after.pool
                        && facts.config.name == after.name
                        && format_address(&facts.config.address) == after.address
                });
                let facts = same.next().filter(|facts| saved_overrides(facts) == *after);
                let id = facts.ok_or_else(moved)?.id;
                let previous_state = self.applied.clone();
                self.update_server(id, |facts| {
                    restore_overrides(facts, &before, SystemTime::now())
                });
                self.publish_changes(&previous_state);
                self.save_server_state();
                UndoAction::Words { before: after, after: before }
            }
            UndoAction::Manual { pool, name, before, after } => {
                if self.overlay.membership_override(&pool, &name) != *after {
                    return Err(moved());
                }
                self.apply_overlay(self.overlay.with_membership(&pool, &name, (*before).clone()))
                    .await?;
                UndoAction::Manual { pool, name, before: after, after: before }
            }
            UndoAction::Generation { before, after } => {
                if !self.is_in_force(after) {
                    return Err(moved());
                }
                let text = self.active.text.clone();
                let stored = self.stored_change(Some(before), origin.clone())?;
                let checked = self.check_change(&stored.change)?;
                self.apply(stored.change, checked, Some(stored.number)).await?;
                match &record.saved {
                    Some(_) => saved = self.restore_file(&text),
                    None => drop(self.save_to(self.overlay_target())?),
                }
                self.publish();
                UndoAction::Generation { before: after, after: self.active.generation }
            }
        };
        let text = format!("{}: {} undone by {origin}", record.target, record.action);
        self.events.info("undone", text);
        let change = AuditedChange {
            action: "undo",
            target: &record.target,
            before: &record.after,
            after: &record.before,
            part_of: None,
        };
        let id = self.record_undo(&origin, change, saved, back, record.id);
        Ok(UndoneCommand { id, undoes: record })
    }

    /// Whether what is active is this generation, or has its text again because later ones were undone.
    fn is_in_force(&self, generation: u64) -> bool {
        let repeated = |stored: &StoredGeneration| *stored.text == *self.active.text;
        self.active.generation == generation
            || self.generations.find(generation).is_some_and(repeated)
    }

    /// Writes the active text back into the file that an order had changed; returns the file if that was possible.
    fn restore_file(&mut self, expected: &str) -> Option<String> {
        let file = self.config_file.file.as_ref()?.canonicalize().ok()?;
        let shown = file.display().to_string();
        let same = atomic_file::read(&file, expected.len() as u64)
            .is_ok_and(|stored_text| stored_text.as_deref() == Some(expected));
        let written =
            same && atomic_file::replace_keeping_owner(&file, self.active.text.as_bytes()).is_ok();
        if !written {
            let text = format!(
                "{shown} was changed since or cannot be written: it still has what was undone"
            );
            self.events.warn("file-differs", text);
        }
        if written {
            self.config_file.set_base(&self.active.text);
        }
        self.refresh_file_drift();
        written.then_some(shown)
    }
}
