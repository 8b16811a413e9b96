//! Writes down what was ordered and how it can be taken back. It carries nothing out but what it is asked to record.

use std::time::SystemTime;

use api::types::AuditRecord;

use super::actor::Actor;
use super::order::{Applied, ApplyError, Change, RollbackError};
use super::origin::Origin;
use super::picture::ServerFacts;
use crate::audit::Reversal;
use crate::reconcile::memory::words_of;
use crate::report::vitals::unix_ms;

impl Actor {
    /// Puts a configuration in force and records who wanted it.
    pub(super) async fn ordered(&mut self, change: Change) -> Result<Applied, ApplyError> {
        let (origin, file) = (change.origin.clone(), change.file.clone());
        let (before, failures) = (self.force.generation, self.failures());
        let (room, base) = (self.room(&change)?, change.base.clone());
        let applied = self.apply(change, None).await?;
        if base.is_some() {
            self.taken_from_file(base);
        }
        let saved = self.keep_in(room);
        let into = saved.as_ref().ok().cloned().flatten();
        self.note_generation(&origin, ("apply", &file), before, into);
        self.publish();
        Ok(Applied { saved: saved?, unkept: self.unkept(failures), ..applied })
    }

    /// Puts an older generation in force and records who wanted it.
    pub(super) async fn rolled_back(
        &mut self,
        to: Option<u64>,
        save: Option<bool>,
        origin: Origin,
    ) -> Result<Applied, RollbackError> {
        let (before, failures) = (self.force.generation, self.failures());
        let (change, repeats) = self.kept(to, origin.clone())?;
        let change = Change { save, ..change };
        let room = self.room(&change)?;
        let applied = self.apply(change, Some(repeats)).await?;
        let saved = self.keep_in(room);
        let into = saved.as_ref().ok().cloned().flatten();
        self.note_generation(&origin, ("rollback", "an older generation"), before, into);
        self.publish();
        Ok(Applied { saved: saved?, unkept: self.unkept(failures), ..applied })
    }

    /// Records a change; its number.
    pub(super) fn note(
        &mut self,
        origin: &Origin,
        (action, target): (&str, &str),
        (before, after): (&str, &str),
        saved: Option<String>,
        reversal: Option<Reversal>,
    ) -> u64 {
        self.audit.add(record(origin, (action, target), (before, after), saved), reversal)
    }

    /// Records that an order was taken back; its number.
    pub(super) fn note_undo(
        &mut self,
        origin: &Origin,
        (action, target): (&str, &str),
        (before, after): (&str, &str),
        saved: Option<String>,
        reversal: Reversal,
        undoes: u64,
    ) -> u64 {
        let record = record(origin, (action, target), (before, after), saved);
        self.audit.add(AuditRecord { undoes: Some(undoes), ..record }, Some(reversal))
    }

    fn note_generation(
        &mut self,
        origin: &Origin,
        (action, from): (&str, &str),
        before: u64,
        saved: Option<String>,
    ) {
        let after = self.force.generation;
        if before == after {
            return;
        }
        let texts = (format!("generation {before}"), format!("generation {after}, from {from}"));
        let reversal = Some(Reversal::Generation { before, after });
        self.note(origin, (action, "configuration"), (&texts.0, &texts.1), saved, reversal);
    }
}

fn record(
    origin: &Origin,
    (action, target): (&str, &str),
    (before, after): (&str, &str),
    saved: Option<String>,
) -> AuditRecord {
    AuditRecord {
        at_unix_ms: unix_ms(SystemTime::now()),
        who: origin.who.clone(),
        way: origin.way.name().to_owned(),
        action: action.to_owned(),
        target: target.to_owned(),
        before: before.to_owned(),
        after: after.to_owned(),
        saved,
        ..AuditRecord::default()
    }
}

/// How words about a server are taken back.
pub(super) fn words(before: &ServerFacts, after: &ServerFacts) -> Reversal {
    Reversal::Words { before: Box::new(words_of(before)), after: Box::new(words_of(after)) }
}
