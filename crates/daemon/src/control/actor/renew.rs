//! What the actor does when files of certificates have changed: workers get what is good, everybody is told.

use std::sync::Arc;
use std::time::SystemTime;

use super::Actor;
use crate::reconcile::secure::secured;

impl Actor {
    /// Looks at the files.
    pub(super) fn renew(&mut self) {
        let news = self.vault.look(SystemTime::now());
        for sentence in &news.taken {
            self.events.info("certificate-renewed", sentence.clone());
        }
        for sentence in &news.refused {
            self.events.error("certificate-refused", sentence.clone());
        }
        if news.changed {
            let before = self.book.clone();
            self.book = secured(before.clone(), &self.vault.materials());
            self.force.certificates = Arc::new(self.vault.told());
            self.show(&before);
            self.publish();
        }
    }
}
