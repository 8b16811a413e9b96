//! What the actor does when files of certificates have changed: workers get what is good, everybody is told.

use std::sync::Arc;
use std::time::SystemTime;

use super::Actor;
use crate::control::tell;
use crate::reconcile::secure::secured;
use crate::tls::vault::Vault;

impl Actor {
    /// From now on these are in force.
    pub(super) fn keep_vault(&mut self, vault: Vault, troubles: &[String]) {
        self.force.certificates = Arc::new(vault.told());
        self.vault = vault;
        tell::certificates(&self.events, troubles);
    }

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
