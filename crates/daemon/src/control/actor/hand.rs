//! What the actor hands to the process that takes over. It sends nothing.

use std::sync::Arc;

use super::Actor;
use crate::control::handle::Handed;
use crate::control::order::ApplyError;
use crate::reconcile::memory::Memory;

impl Actor {
    /// Everything that the next process begins with; until it gives up nothing is changed any more.
    pub(super) fn hand_over(&mut self) -> Result<Handed, ApplyError> {
        self.may_change()?;
        let sockets = self.listeners.copies()?;
        self.handing = true;
        let facts = self.book.servers.values().map(|entry| &*entry.facts);
        Ok(Handed {
            generation: self.force.generation,
            text: Arc::clone(&self.force.text),
            file: Arc::clone(&self.force.file),
            origin: self.force.origin.clone(),
            memory: Memory::everything(facts).with(&self.overlay),
            sockets,
        })
    }
}
