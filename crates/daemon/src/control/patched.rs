//! A patch of one object, made of what is in force when it is its turn: two who change different objects at once both
//! have what they wanted. How a patch is written into a text is `model::config::patch`'s.

use model::config::patch::patch;

use super::actor::Actor;
use super::order::{Applied, ApplyError, Change, Patch};

impl Actor {
    /// Carries it out, like any change.
    pub(super) async fn patched(&mut self, order: Patch) -> Result<Applied, ApplyError> {
        let Patch { object, patch: keys, origin, expect, save } = order;
        if let Some(expected) = expect.filter(|wanted| *wanted != self.force.generation) {
            return Err(ApplyError::Stale { expected, found: self.force.generation });
        }
        let text = patch(&self.force.text, &object, &keys)?;
        let file = self.force.file.to_string();
        self.ordered(Change { save, ..Change::new(text, file, origin) }).await
    }
}
