//! Files of certificates, of error pages, of networks and of the cookie secret, at the start and when they have changed: workers get the good ones,
//! and the result is reported.

use std::sync::Arc;
use std::time::SystemTime;

use model::config::Config;
use model::snapshot::AcmeProofs;

use super::ControlActor;
use crate::control::reconcile::apply;
use crate::control::reconcile::tls_materials::with_tls_materials;
use crate::control::state_events;
use crate::state::acme_proof::AcmeProof;
use crate::state::change::ApplyError;
use crate::state::tls_config_error::TlsConfigError;
use crate::stores::auth_store::auth_fault::ReloadedAuth;
use crate::tls::cert_store::PreparedStore;
use crate::tls::sticky_secrets;
use crate::util::bpf_pins;

/// The name of the alarm that stands while a changed file is no good, and what it held before stays active.
const FILE_ALARM: &str = "file";

impl ControlActor {
    /// Prepares the files and pins that the next configuration needs, before anything is changed.
    pub(super) fn prepare(
        &self,
        config: &Config,
        now: SystemTime,
    ) -> Result<PreparedStore, ApplyError> {
        bpf_pins::refuse_foreign(config)?;
        Ok(self.vault.prepare(config, now)?)
    }

    /// Makes them the active ones.
    pub(super) fn install_vault(&mut self, prepared: PreparedStore) {
        self.active.certificates = Arc::new(prepared.store.certificates());
        self.vault = prepared.store;
        self.vault.begin_fetching();
        // All files are good but for those of authentication, which are not read again before they change.
        self.events.faults().retain(FILE_ALARM, |key| self.vault.auth.is_refused(key));
        state_events::report_certificate_warnings(&self.events, &prepared.warnings);
        state_events::report_cookie_warnings(&self.events, &mut self.vault.cookies.warnings);
        for sentence in prepared.reloaded {
            self.events.info("certificate-renewed", sentence);
        }
        for sentence in prepared.auths {
            self.events.info("auth-renewed", sentence);
        }
        for sentence in prepared.pages {
            self.events.info("error-page-renewed", sentence);
        }
        for sentence in prepared.networks {
            self.events.info("networks-renewed", sentence);
        }
    }

    /// Reloads files on demand: at once, and only if all of them are valid.
    pub(super) fn reload_now(&mut self, config: &Config) -> Result<(), TlsConfigError> {
        let prepared = self.vault.prepare(config, SystemTime::now())?;
        let before = self.applied.clone();
        self.applied = with_tls_materials(before.clone(), &prepared.store.materials());
        self.install_vault(prepared);
        self.publish_changes(&before);
        self.publish();
        Ok(())
    }

    /// Publishes the challenge response of an ACME order, or withdraws it, and waits until workers serve it.
    pub(super) async fn publish_proof(&mut self, key: &str, proof: Option<AcmeProof>) {
        let before = self.applied.clone();
        self.vault.set_challenges(key, proof.as_ref().map_or(&[][..], |proof| &proof.tls[..]));
        match proof {
            Some(proof) => self.proofs.insert(key.to_owned(), proof),
            None => self.proofs.remove(key),
        };
        let http: AcmeProofs = self.proofs.values().flat_map(|proof| proof.http.clone()).collect();
        self.applied = with_tls_materials(before.clone(), &self.vault.materials());
        self.applied.challenges = (!http.is_empty()).then(|| Arc::new(http));
        self.publish_changes(&before);
        // If workers are slow, validation fails and is retried later.
        apply::wait_installed(&*self.engine, self.active.snapshot.version).await;
    }

    /// Looks at the files.
    pub(super) fn reload_certificates(&mut self) {
        let news = self.vault.reload(SystemTime::now());
        for sentence in &news.reloaded {
            self.events.info("certificate-renewed", sentence.clone());
        }
        for sentence in &news.rejected {
            self.events.error("certificate-refused", sentence.clone());
        }
        let cookies = self.vault.reload_cookies();
        match &cookies {
            Some(Ok(())) => {
                self.events.faults().end(FILE_ALARM, sticky_secrets::KEY);
                let sentence = format!("{}: the changed file is active", sticky_secrets::KEY);
                self.events.info("sticky-secret-renewed", sentence);
            }
            Some(Err(why)) => {
                self.events.faults().begin(FILE_ALARM, sticky_secrets::KEY, why.to_string());
                let sentence = format!("{}: {why}; as before", sticky_secrets::KEY);
                self.events.error("sticky-secret-refused", sentence);
            }
            None => {}
        }
        let files = self.reload_error_pages() | self.reload_networks() | self.reload_auth();
        if news.changed || matches!(cookies, Some(Ok(()))) || files {
            let before = self.applied.clone();
            self.applied = with_tls_materials(before.clone(), &self.vault.materials());
            self.active.certificates = Arc::new(self.vault.certificates());
            self.publish_changes(&before);
            self.publish();
        }
    }

    /// Looks at the files of authentication; whether workers need other ones.
    fn reload_auth(&mut self) -> bool {
        let ReloadedAuth { renewed, refused, repeated, unsaved, is_changed } =
            self.vault.reload_auth();
        for sentence in renewed {
            self.events.info("auth-renewed", sentence);
        }
        let is_standing = |key: &str| !key.starts_with("auth.") || self.vault.auth.is_refused(key);
        self.events.faults().retain(FILE_ALARM, is_standing);
        for fault in refused {
            self.events.faults().begin(FILE_ALARM, fault.key.clone(), fault.error.to_string());
            let sentence = format!("{}: {}; {}", fault.key, fault.error, fault.effect);
            self.events.error("auth-refused", sentence);
        }
        for fault in repeated {
            self.events.faults().begin(FILE_ALARM, fault.key, fault.error.to_string());
        }
        for sentence in unsaved {
            self.events.warn("key-sets-not-saved", sentence);
        }
        is_changed
    }

    /// Looks at the files of error pages; whether workers need other ones.
    fn reload_error_pages(&mut self) -> bool {
        match self.vault.reload_pages() {
            Some(Ok(sentences)) => {
                self.events.faults().retain(FILE_ALARM, |key| !key.contains(".error-page["));
                let is_changed = !sentences.is_empty();
                for sentence in sentences {
                    self.events.info("error-page-renewed", sentence);
                }
                is_changed
            }
            Some(Err(why)) => {
                self.events.faults().begin(FILE_ALARM, why.key(), why.reason());
                self.events.error("error-page-refused", format!("{why}; as before"));
                false
            }
            None => false,
        }
    }

    /// Looks at the files of networks; whether workers need other ones.
    fn reload_networks(&mut self) -> bool {
        match self.vault.networks.reload() {
            Some(Ok(sentences)) => {
                self.events.faults().retain(FILE_ALARM, |key| !key.ends_with(".trust"));
                let is_changed = !sentences.is_empty();
                for sentence in sentences {
                    self.events.info("networks-renewed", sentence);
                }
                is_changed
            }
            Some(Err(fault)) => {
                self.events.faults().begin(FILE_ALARM, fault.key.clone(), fault.error.to_string());
                let sentence = format!("{}: {}; as before", fault.key, fault.error);
                self.events.error("networks-refused", sentence);
                false
            }
            None => false,
        }
    }
}
