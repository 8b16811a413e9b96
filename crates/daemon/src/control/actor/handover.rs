//! What the actor hands to the process that takes over. It sends nothing.

use std::sync::Arc;

use super::ControlActor;
use crate::state::change::ApplyError;
use crate::state::handle::HandoverState;
use crate::state::saved_state::SavedState;

impl ControlActor {
    /// The state that the next process starts with. Changes are rejected until the takeover is cancelled.
    pub(super) fn hand_over(&mut self) -> Result<HandoverState, ApplyError> {
        self.check_changeable()?;
        let sockets = self.listeners.copies()?;
        self.handing_over = true;
        let facts = self.applied.servers.values().map(|entry| &*entry.facts);
        Ok(HandoverState {
            generation: self.active.generation,
            text: Arc::clone(&self.active.text),
            file: Arc::clone(&self.active.file),
            origin: self.active.origin.clone(),
            memory: SavedState::full(facts).with_overlay(&self.overlay),
            sockets,
        })
    }
}
