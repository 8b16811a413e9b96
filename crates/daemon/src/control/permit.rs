//! Judges a change by who asks and how far it reaches, before anything of it is done, and records what is refused.

use model::config::Checked;

use super::actor::Actor;
use super::order::{ApplyError, Change};
use super::origin::{Origin, Way};

impl Actor {
    /// Judges a change before anything of it is done, and records one that is refused.
    ///
    /// # Errors
    /// It comes over the API and reaches further than the file allows.
    pub(super) fn may_reach(
        &mut self,
        change: &Change,
        checked: &Checked,
    ) -> Result<(), ApplyError> {
        match change.origin.way {
            Way::Start | Way::Reload => Ok(()),
            Way::Api | Way::Rollback | Way::Clock | Way::Source => {
                self.reached.judge(checked).inspect_err(|error| self.refused(&change.origin, error))
            }
        }
    }

    /// A change is in force.
    pub(super) fn has_reached(&mut self, way: Way) {
        if matches!(way, Way::Start | Way::Reload) {
            self.reached.read(&self.force.checked);
        }
    }

    fn refused(&mut self, origin: &Origin, error: &ApplyError) {
        let (before, text) = (format!("generation {}", self.force.generation), error.to_string());
        self.events.warn("program-not-allowed", format!("{text} (asked by {origin})"));
        self.note(origin, ("refused", "configuration"), (&before, &text), None, None);
    }
}
