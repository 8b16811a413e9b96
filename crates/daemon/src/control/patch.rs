//! A patch of one object, applied to the configuration that is active at its turn: two who change different objects at
//! once both get what they wanted. How a patch is written into a text is decided in `model::config`.

use model::config::patch::apply_patch;

use super::actor::ControlActor;
use crate::state::change::{ApplyError, ApplyOutcome, ConfigChange, ConfigPatch};

impl ControlActor {
    /// Carries it out, like any change.
    pub(super) async fn apply_patch(
        &mut self,
        order: ConfigPatch,
    ) -> Result<ApplyOutcome, ApplyError> {
        let ConfigPatch { object, patch: keys, origin, expect, save } = order;
        if let Some(expected) = expect.filter(|wanted| *wanted != self.active.generation) {
            return Err(ApplyError::Stale { expected, found: self.active.generation });
        }
        let text = apply_patch(&self.active.text, &object, &keys)?;
        let file = self.active.file.to_string();
        self.apply_and_record(ConfigChange { save, ..ConfigChange::new(text, file, origin) }).await
    }
}
