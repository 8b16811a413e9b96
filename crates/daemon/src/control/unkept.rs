//! What an order changed and the disk did not take: whoever ordered hears of it with the answer.

use super::actor::Actor;

/// Failures of each of those that keep something on disk.
pub(super) type Failures = [u64; 4];

impl Actor {
    /// Those until now.
    pub(super) fn failures(&self) -> Failures {
        let (generations, words) = (self.generations.failed(), self.words.failures());
        [generations, words, self.audit.failures(), self.keeping.failures()]
    }

    /// What was not kept since then, each a whole sentence.
    pub(super) fn unkept(&self, before: Failures) -> Vec<String> {
        let keepers = [
            (
                "the generation is not kept, and no restart can go back to it",
                self.generations.why(),
            ),
            ("what is said of servers is not kept, and a restart forgets it", self.words.why()),
            ("the record of orders has a gap here", self.audit.why()),
            (
                "what differs from the file is not kept, and a restart forgets it",
                self.keeping.why(),
            ),
        ];
        let failed = self.failures().into_iter().zip(before).map(|(now, then)| now > then);
        let failed = keepers.into_iter().zip(failed).filter(|(_, failed)| *failed);
        failed.map(|((what, why), _)| format!("{what}: {why}")).collect()
    }
}
