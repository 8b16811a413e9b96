//! What a change could not write to disk: reported to its sender with the result.

use super::actor::ControlActor;

/// Failed writes of each store on disk.
pub(super) type PersistenceFailures = [u64; 4];

impl ControlActor {
    pub(super) fn persistence_failures(&self) -> PersistenceFailures {
        let generations = self.generations.failures();
        let server_state = self.state_file.failures();
        [generations, server_state, self.audit.failures(), self.config_file.failures()]
    }

    /// One sentence for each kind of state that could not be stored since `before`.
    pub(super) fn unsaved_since(&self, before: PersistenceFailures) -> Vec<String> {
        let keepers = [
            (
                "the generation is not kept, and no restart can go back to it",
                self.generations.last_error(),
            ),
            (
                "what is said of servers is not kept, and a restart forgets it",
                self.state_file.last_error(),
            ),
            ("the record of orders has a gap here", self.audit.last_error()),
            (
                "what differs from the file is not kept, and a restart forgets it",
                self.config_file.last_error(),
            ),
        ];
        let failed =
            self.persistence_failures().into_iter().zip(before).map(|(now, then)| now > then);
        let failed = keepers.into_iter().zip(failed).filter(|(_, failed)| *failed);
        failed.map(|((subject, why), _)| format!("{subject}: {why}")).collect()
    }
}
