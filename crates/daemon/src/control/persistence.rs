//! What a change could not write to disk: reported to its sender with the result.

use super::actor::ControlActor;

/// Failed writes of each store on disk.
pub(super) type PersistenceFailures = [u64; 4];

/// The last error of a store on disk.
struct StoreError<'a> {
    /// What it means for operators.
    effect: &'static str,
    /// Empty: the last attempt succeeded.
    error: &'a str,
}

impl StoreError<'_> {
    fn describe(&self) -> String {
        format!("{}: {}", self.effect, self.error)
    }
}

impl ControlActor {
    pub(super) fn persistence_failures(&self) -> PersistenceFailures {
        let generations = self.generations.failures();
        let server_state = self.state_file.failures();
        [generations, server_state, self.audit.failures(), self.config_file.failures()]
    }

    /// One sentence for each kind of state that could not be stored since `before`.
    pub(super) fn unsaved_since(&self, before: PersistenceFailures) -> Vec<String> {
        let failed =
            self.persistence_failures().into_iter().zip(before).map(|(now, then)| now > then);
        let stores = self.store_errors().into_iter().zip(failed);
        stores.filter(|(_, failed)| *failed).map(|(store, _)| store.describe()).collect()
    }

    /// One sentence for each kind of state whose last attempt failed.
    pub(super) fn unsaved_now(&self) -> Vec<String> {
        let failed = self.store_errors().into_iter().filter(|store| !store.error.is_empty());
        failed.map(|store| store.describe()).collect()
    }

    /// In the order of the failures.
    fn store_errors(&self) -> [StoreError<'_>; 4] {
        [
            StoreError {
                effect: "the generation is not kept, and no restart can go back to it",
                error: self.generations.last_error(),
            },
            StoreError {
                effect: "what is said of servers is not kept, and a restart forgets it",
                error: self.state_file.last_error(),
            },
            StoreError { effect: "the audit log has a gap here", error: self.audit.last_error() },
            StoreError {
                effect: "what differs from the file is not kept, and a restart forgets it",
                error: self.config_file.last_error(),
            },
        ]
    }
}
