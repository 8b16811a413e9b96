//! A patch, replacement or removal of one object, applied to the configuration that is active at its turn: two who change
//! different objects at once both get what they wanted. How it is written into a text is decided in `model::config`.

use model::config::patch::object_edit::{ObjectEdit, apply_edit, has_object};

use super::actor::ControlActor;
use crate::state::change::{ApplyError, ApplyOutcome, ConfigChange, ConfigPatch};

impl ControlActor {
    /// Carries it out, like any change.
    pub(super) async fn apply_patch(
        &mut self,
        order: ConfigPatch,
    ) -> Result<ApplyOutcome, ApplyError> {
        let ConfigPatch { object, edit, origin, expect, save } = order;
        if let Some(expected) = expect.filter(|wanted| *wanted != self.active.generation) {
            return Err(ApplyError::Stale { expected, found: self.active.generation });
        }
        let text = apply_edit(&self.active.text, &object, &edit)?;
        let file = self.active.file.to_string();
        let is_put = matches!(edit, ObjectEdit::Put(_));
        let created = is_put && !has_object(&self.active.text, &object);
        let change = ConfigChange { save, ..ConfigChange::new(text, file, origin) };
        Ok(ApplyOutcome { created, ..self.apply_and_record(change).await? })
    }
}
