//! What the actor takes from files of certificates and of the secret of cookies, first and when they have changed: workers get
//! what is good, everybody is told.

use std::sync::Arc;
use std::time::SystemTime;

use model::config::Config;
use model::snapshot::Proofs;

use super::Actor;
use crate::acme::proof::Proof;
use crate::control::order::ApplyError;
use crate::control::tell;
use crate::cookies;
use crate::pins;
use crate::reconcile::act;
use crate::reconcile::secure::secured;
use crate::tls::vault::{Prepared, VaultError};

impl Actor {
    /// What the next configuration needs of files and pins, before anything is changed.
    pub(super) fn prepare(&self, config: &Config, now: SystemTime) -> Result<Prepared, ApplyError> {
        pins::refuse_foreign(config)?;
        Ok(self.vault.prepare(config, now)?)
    }

    /// From now on these are in force.
    pub(super) fn keep_vault(&mut self, prepared: Prepared) {
        self.force.certificates = Arc::new(prepared.vault.told());
        self.vault = prepared.vault;
        tell::certificates(&self.events, &prepared.warnings);
        tell::cookies(&self.events, &mut self.vault.cookies.doubts);
        for sentence in prepared.taken {
            self.events.info("certificate-renewed", sentence);
        }
    }

    /// Takes up what is on disk, by order: at once, and only if all of it is good.
    pub(super) fn renew_at_once(&mut self, config: &Config) -> Result<(), VaultError> {
        let prepared = self.vault.prepare(config, SystemTime::now())?;
        let before = self.book.clone();
        self.book = secured(before.clone(), &prepared.vault.materials());
        self.keep_vault(prepared);
        self.show(&before);
        self.publish();
        Ok(())
    }

    /// Has something ready for the authority of an order, or nothing any more, and waits until workers show it.
    pub(super) async fn prove(&mut self, key: &str, proof: Option<Proof>) {
        let before = self.book.clone();
        self.vault.prove(key, proof.as_ref().map_or(&[][..], |proof| &proof.tls[..]));
        match proof {
            Some(proof) => self.proofs.insert(key.to_owned(), proof),
            None => self.proofs.remove(key),
        };
        let http: Proofs = self.proofs.values().flat_map(|proof| proof.http.clone()).collect();
        self.book = secured(before.clone(), &self.vault.materials());
        self.book.proofs = (!http.is_empty()).then(|| Arc::new(http));
        self.show(&before);
        // If they are slow the authority finds nothing, says so, and is asked again later.
        act::installed(&*self.engine, self.force.snapshot.version).await;
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
        let cookies = self.vault.look_at_cookies();
        match &cookies {
            Some(Ok(())) => {
                let sentence = format!("{}: the changed file is in force", cookies::KEY);
                self.events.info("sticky-secret-renewed", sentence);
            }
            Some(Err(why)) => {
                let sentence = format!("{}: {why}; as before", cookies::KEY);
                self.events.error("sticky-secret-refused", sentence);
            }
            None => {}
        }
        if news.changed || matches!(cookies, Some(Ok(()))) {
            let before = self.book.clone();
            self.book = secured(before.clone(), &self.vault.materials());
            self.force.certificates = Arc::new(self.vault.told());
            self.show(&before);
            self.publish();
        }
    }
}
