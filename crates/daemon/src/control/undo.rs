//! Orders taken back: by the record of what was before, and only while what the order made still stands.
//!
//! What was cut cannot be mended: the words that came with a cut can.

use std::time::SystemTime;

use super::actor::Actor;
use super::origin::Origin;
use super::word::{UndoError, Undone};
use crate::audit::{Entry, Reversal};
use crate::keep;
use crate::reconcile::memory::{restore, words_of};
use crate::reconcile::server::address_text;

impl Actor {
    /// Takes an order back; `None`: the latest that can be.
    pub(super) async fn undo(
        &mut self,
        id: Option<u64>,
        origin: Origin,
    ) -> Result<Undone, UndoError> {
        if self.handing {
            return Err(UndoError::HandingOver);
        }
        let found = match id {
            Some(id) => Some(self.audit.find(id).ok_or(UndoError::Unknown(id))?),
            None => self.audit.latest(),
        };
        let Entry { record, reversal } = found.cloned().ok_or(UndoError::Nothing)?;
        let reversal = reversal.ok_or(UndoError::Cannot(record.id))?;
        let moved = || UndoError::Moved(record.id, record.target.clone());
        let mut saved = None;
        let back = match reversal {
            Reversal::Words { before, after } => {
                let facts = self.book.servers.values().map(|entry| &entry.facts);
                let mut same = facts.filter(|facts| {
                    facts.pool_name == after.pool
                        && facts.config.name == after.name
                        && address_text(&facts.config.address) == after.address
                });
                let facts = same.next().filter(|it| words_of(it) == *after).ok_or_else(moved)?;
                let (id, book) = (facts.id, self.book.clone());
                self.server(id, |facts| restore(facts, &before, SystemTime::now()));
                self.show(&book);
                self.keep_words();
                Reversal::Words { before: after, after: before }
            }
            Reversal::Manual { pool, name, before, after } => {
                if self.overlay.manual(&pool, &name) != *after {
                    return Err(moved());
                }
                self.refit(self.overlay.with_manual(&pool, &name, (*before).clone())).await?;
                Reversal::Manual { pool, name, before: after, after: before }
            }
            Reversal::Generation { before, after } => {
                if self.force.generation != after {
                    return Err(moved());
                }
                let text = self.force.text.clone();
                let (change, repeats) = self.kept(Some(before), origin.clone())?;
                self.apply(change, Some(repeats)).await?;
                match &record.saved {
                    Some(_) => saved = self.unwrite(&text),
                    None => drop(self.keep_in(self.room_beside())?),
                }
                self.publish();
                Reversal::Generation { before: after, after: self.force.generation }
            }
        };
        let text = format!("{}: {} taken back by {origin}", record.target, record.action);
        self.events.info("undone", text);
        let (was, is) = (record.after.clone(), record.before.clone());
        let action = ("undo", record.target.as_str());
        let id = self.note_undo(&origin, action, (&was, &is), saved, back, record.id);
        Ok(Undone { id, undoes: record })
    }

    /// Writes what is in force again into the file that an order had been written to; the file, if that was possible.
    fn unwrite(&mut self, expected: &str) -> Option<String> {
        let file = self.keeping.file.as_ref()?.canonicalize().ok()?;
        let shown = file.display().to_string();
        let same = keep::read(&file, expected.len() as u64)
            .is_ok_and(|it| it.as_deref() == Some(expected));
        let written = same && keep::replace_like(&file, self.force.text.as_bytes()).is_ok();
        if !written {
            let text = format!(
                "{shown} was changed since or cannot be written: it still has what was taken back"
            );
            self.events.warn("file-differs", text);
        }
        if written {
            self.keeping.written(&self.force.text);
        }
        self.look_at_file();
        written.then_some(shown)
    }
}
