//! Writes changes to the audit log, with how they can be undone. It carries out nothing but the recorded changes of the
//! configuration.

use std::time::SystemTime;

use api::types::AuditRecord;

use super::actor::ControlActor;
use crate::control::audit::UndoAction;
use crate::state::change::{ApplyError, ApplyOutcome, ConfigChange, RollbackError};
use crate::state::origin::ChangeOrigin;
use crate::state::saved_state::saved_overrides;
use crate::state::state_snapshot::ServerFacts;
use crate::util::wall_clock::unix_ms;

/// A change as the audit log describes it.
pub(super) struct AuditedChange<'a> {
    pub action: &'a str,
    pub target: &'a str,
    pub before: &'a str,
    pub after: &'a str,
    /// The record of the first order of the command that it is part of.
    pub part_of: Option<u64>,
}

impl ControlActor {
    /// Activates a configuration and records who requested it.
    pub(super) async fn apply_and_record(
        &mut self,
        change: ConfigChange,
    ) -> Result<ApplyOutcome, ApplyError> {
        let origin = change.origin.clone();
        let file = change.file.clone();
        let before = self.active.generation;
        let failures = self.persistence_failures();
        let checked = self.check_change(&change)?;
        let room = self.save_target(&change, &checked)?;
        let base = change.base.clone();
        let applied = self.apply(change, checked, None).await?;
        if base.is_some() {
            self.adopt_file_text(base);
        }
        let saved = self.save_to(room);
        let into = saved.as_ref().ok().cloned().flatten();
        self.record_generation(&origin, "apply", &file, before, into);
        self.publish();
        Ok(ApplyOutcome { saved: saved?, unsaved: self.unsaved_since(failures), ..applied })
    }

    /// Activates an older generation and records who requested it.
    pub(super) async fn rollback_and_record(
        &mut self,
        to: Option<u64>,
        save: Option<bool>,
        origin: ChangeOrigin,
    ) -> Result<ApplyOutcome, RollbackError> {
        let before = self.active.generation;
        let failures = self.persistence_failures();
        let stored = self.stored_change(to, origin.clone())?;
        let change = ConfigChange { save, ..stored.change };
        let checked = self.check_change(&change)?;
        let room = self.save_target(&change, &checked)?;
        let applied = self.apply(change, checked, Some(stored.number)).await?;
        let saved = self.save_to(room);
        let into = saved.as_ref().ok().cloned().flatten();
        let from = format!("generation {}", stored.number);
        self.record_generation(&origin, "rollback", &from, before, into);
        self.publish();
        let unsaved = self.unsaved_since(failures);
        Ok(ApplyOutcome { repeats: Some(stored.number), saved: saved?, unsaved, ..applied })
    }

    /// Records a change; its number.
    pub(super) fn record_change(
        &mut self,
        origin: &ChangeOrigin,
        change: AuditedChange<'_>,
        saved: Option<String>,
        reversal: Option<UndoAction>,
    ) -> u64 {
        self.audit.add(record(origin, change, saved), reversal)
    }

    /// Records that an order was undone; returns the record's number.
    pub(super) fn record_undo(
        &mut self,
        origin: &ChangeOrigin,
        change: AuditedChange<'_>,
        saved: Option<String>,
        reversal: UndoAction,
        undoes: u64,
    ) -> u64 {
        let record = record(origin, change, saved);
        self.audit.add(AuditRecord { undoes: Some(undoes), ..record }, Some(reversal))
    }

    fn record_generation(
        &mut self,
        origin: &ChangeOrigin,
        action: &str,
        from: &str,
        before: u64,
        saved: Option<String>,
    ) {
        let after = self.active.generation;
        if before == after {
            return;
        }
        let reversal = Some(UndoAction::Generation { before, after });
        let change = AuditedChange {
            action,
            target: "configuration",
            before: &format!("generation {before}"),
            after: &format!("generation {after}, from {from}"),
            part_of: None,
        };
        self.record_change(origin, change, saved, reversal);
    }
}

fn record(origin: &ChangeOrigin, change: AuditedChange<'_>, saved: Option<String>) -> AuditRecord {
    AuditRecord {
        at_unix_ms: unix_ms(SystemTime::now()),
        who: origin.who.clone(),
        way: origin.way.name().to_owned(),
        action: change.action.to_owned(),
        target: change.target.to_owned(),
        before: change.before.to_owned(),
        after: change.after.to_owned(),
        part_of: change.part_of,
        saved,
        ..AuditRecord::default()
    }
}

/// How commands for a server are undone.
pub(super) fn command_undo(before: &ServerFacts, after: &ServerFacts) -> UndoAction {
    UndoAction::Words {
        before: Box::new(saved_overrides(before)),
        after: Box::new(saved_overrides(after)),
    }
}
