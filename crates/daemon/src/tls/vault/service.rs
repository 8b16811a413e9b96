//! What one service speaks TLS with, made of its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use l7::tls::identity::Identity;
use l7::tls::purpose::UsedAs;
use l7::tls::server::{Ingredients, ServerTls};
use l7::tls::tickets::Tickets;
use model::config::{Forward, Offer, Service, ServiceTls};
use model::snapshot::Material;

use super::news::{News, Why};
use crate::acme::place;
use crate::tls::files::{self, Marks, Pair};
use crate::tls::held::{Kept, difference, taken};
use crate::tls::trusted::ClientFiles;

/// A service.
#[derive(Clone, Debug)]
pub(super) struct OfService {
    pub(super) config: ServiceTls,
    pub(super) carries: Carries,
    pub(super) marks: Marks,
    pub(super) doubt: Option<Marks>,
    /// Its files hold something that was not taken.
    pub(super) refused: bool,
    pub(super) tickets: Option<Tickets>,
    /// What clients are judged by, where they are asked for certificates.
    pub(super) clients: Option<Arc<ClientFiles>>,
    pub(super) kept: Vec<Kept>,
    /// The certificate that is ordered for it: what it is called, and its file, which may not be there yet.
    pub(super) ordered: Option<(String, PathBuf)>,
    /// What its authority looks for meanwhile.
    pub(super) proofs: Vec<Arc<Identity>>,
    pub(super) material: Material,
}

/// What a service speaks under TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carries {
    http: bool,
    http2: bool,
}

impl Carries {
    fn of(service: &Service) -> Carries {
        let http = service.forward == Forward::Http;
        Carries { http, http2: http && service.http2.offer != Offer::Off }
    }
}

impl OfService {
    pub(super) fn serves(&self, service: &Service, tls: &ServiceTls) -> bool {
        self.config == *tls && self.carries == Carries::of(service)
    }

    pub(super) fn read(
        (service, tls): (&Service, &ServiceTls),
        before: Option<&OfService>,
        (state, now): (&Option<PathBuf>, SystemTime),
        warnings: &mut Vec<String>,
    ) -> Result<OfService, Why> {
        let carries = Carries::of(service);
        let ordered = match (&tls.acme, state) {
            (Some(acme), Some(state)) => Some((place::key(acme), place::certificate(state, acme))),
            (Some(_), None) => return Err(Why::NoState),
            (None, _) => None,
        };
        let file = ordered.iter().map(|(_, file)| file);
        let marks = files::marks(&paths_of(tls, file));
        let mut kept = Vec::new();
        for file in files::expand(&tls.certificates)? {
            let old = before.and_then(|it| it.kept.iter().find(|kept| kept.file == file));
            kept.push(match old {
                Some(old) => taken(&file, Some(old), now).map_err(Why::Kept)?,
                None => {
                    let Pair { identity } = files::pair(&file)?;
                    warnings.extend(files::doubt(&file, &identity, UsedAs::Server));
                    Kept { file, identity: Arc::new(identity), since: now, trouble: None }
                }
            });
        }
        if let Some((_, file)) = ordered.as_ref().filter(|(_, file)| is_ours(file, warnings)) {
            let old = before.and_then(|it| it.kept.iter().find(|kept| kept.file == *file));
            match (taken(file, old, now), old) {
                (Ok(held), _) => kept.push(held),
                // Another one is ordered.
                (Err(why), Some(old)) => kept.push(Kept { trouble: Some(why), ..old.clone() }),
                (Err(why), None) => warnings.push(why),
            }
        }
        let clients = match &tls.client {
            Some(client) => Some(Arc::new(ClientFiles::read(client, now, warnings)?)),
            None => None,
        };
        // The keys outlive a change of certificates, but none of whom they let in.
        let same = |before: &&OfService| {
            let terms = |tls: &ServiceTls| {
                (tls.client.clone(), tls.tickets, tls.policy, tls.minimum, tls.unknown_name)
            };
            terms(&before.config) == terms(tls) && before.clients == clients
        };
        let tickets = match before.filter(same) {
            Some(before) => before.tickets.clone(),
            None => tls.tickets.map(Tickets::new).transpose()?,
        };
        let proofs = before.filter(|it| it.ordered == ordered).map(|it| it.proofs.clone());
        let mut of = OfService {
            config: tls.clone(),
            carries,
            marks,
            doubt: None,
            refused: false,
            tickets,
            clients,
            kept: Vec::new(),
            ordered,
            proofs: proofs.unwrap_or_default(),
            material: Material::new(Arc::new(())),
        };
        (of.material, of.kept) = (of.make(&kept)?, kept);
        Ok(of)
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        paths_of(&self.config, self.ordered.iter().map(|(_, file)| file))
    }

    pub(super) fn make(&self, kept: &[Kept]) -> Result<Material, Why> {
        let identities: Vec<_> = kept.iter().map(|kept| kept.identity.clone()).collect();
        let from = Ingredients {
            config: &self.config,
            http: self.carries.http,
            http2: self.carries.http2,
            identities: &identities,
            clients: self.clients.as_deref().map(ClientFiles::trust),
            tickets: self.tickets.as_ref(),
            ordered: self.ordered.is_some(),
            proofs: &self.proofs,
        };
        Ok(Material::new(Arc::new(ServerTls::new(&from)?)))
    }

    /// After a change of files: each on its own.
    pub(super) fn renew(&mut self, name: &str, now: SystemTime, news: &mut News) {
        self.refused = false;
        if let Err(why) = self.renew_clients(name, now, news) {
            return self.as_before(name, &why, news);
        }
        let mut files = match files::expand(&self.config.certificates) {
            Ok(files) => files,
            Err(why) => return self.as_before(name, &why, news),
        };
        // One that was in force and is gone is told of, and stays.
        let there = |file: &PathBuf| ::files::own::is_there(file).unwrap_or(false);
        let held = |file: &PathBuf| self.kept.iter().any(|kept| kept.file == *file);
        let ordered = self.ordered.iter().map(|(_, file)| file);
        files.extend(ordered.filter(|file| there(file) || held(file)).cloned());
        let mut kept = Vec::new();
        for file in files {
            let old = self.kept.iter().find(|kept| kept.file == file);
            match (taken(&file, old, now), old) {
                (Ok(fresh), old) => {
                    if let Some(sentence) = difference(old, &fresh) {
                        news.taken.push(format!("service.{name}.tls: {sentence}"));
                    }
                    kept.push(fresh);
                }
                (Err(why), Some(old)) => {
                    self.refused = true;
                    news.refused.push(format!("service.{name}.tls: {why}; as before"));
                    kept.push(Kept { trouble: Some(why), ..old.clone() });
                }
                (Err(why), None) => {
                    self.refused = true;
                    news.refused.push(format!("service.{name}.tls: {why}"));
                }
            }
        }
        match self.make(&kept) {
            Ok(material) => {
                (self.material, self.kept) = (material, kept);
                news.changed = true;
            }
            Err(why) => self.as_before(name, &why, news),
        }
    }

    /// Reads again what clients are judged by. Sessions that were begun under other bytes are not resumed.
    pub(super) fn renew_clients(
        &mut self,
        name: &str,
        now: SystemTime,
        news: &mut News,
    ) -> Result<(), Why> {
        let Some(client) = &self.config.client else { return Ok(()) };
        let fresh = ClientFiles::read(client, now, &mut news.refused)?;
        let changed = fresh.changed(self.clients.as_deref());
        if changed.is_empty() {
            return Ok(());
        }
        let tickets = self.config.tickets.map(Tickets::new).transpose()?;
        let next = OfService { clients: Some(Arc::new(fresh)), tickets, ..self.clone() };
        let material = next.make(&next.kept)?;
        *self = OfService { material, ..next };
        news.taken.push(clients_changed(name, &changed));
        Ok(())
    }

    /// Tells what is new against what was there before.
    pub(super) fn differs(&self, name: &str, before: Option<&OfService>, news: &mut News) {
        let Some(before) = before else { return };
        for kept in &self.kept {
            let old = before.kept.iter().find(|old| old.file == kept.file);
            if let Some(sentence) = difference(old, kept).filter(|_| old.is_some()) {
                news.taken.push(format!("service.{name}.tls: {sentence}"));
            }
        }
        let same = before.config.client == self.config.client;
        let changed = self.clients.iter().flat_map(|it| it.changed(before.clients.as_deref()));
        let changed: Vec<String> = changed.filter(|_| same).collect();
        if !changed.is_empty() {
            news.taken.push(clients_changed(name, &changed));
        }
    }

    /// Whether its files look as when they were taken.
    pub(super) fn unchanged(&self) -> bool {
        !self.refused && files::marks(&self.paths()) == self.marks
    }

    pub(super) fn as_before(&mut self, name: &str, why: &dyn std::fmt::Display, news: &mut News) {
        news.refused.push(format!("service.{name}.tls: {why}; as before"));
        for kept in &mut self.kept {
            kept.trouble = Some(why.to_string());
        }
        (self.refused, news.changed) = (true, true);
    }
}

fn paths_of<'a>(tls: &ServiceTls, ordered: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let client = tls.client.iter().flat_map(|it| std::iter::once(&it.ca).chain(&it.revoked.files));
    let client = client.cloned();
    tls.certificates.iter().cloned().chain(client).chain(ordered.cloned()).collect()
}

fn clients_changed(name: &str, files: &[String]) -> String {
    let files = files.join(", ");
    format!(
        "service.{name}.tls.client: {files}: new content is in force; sessions of before are not resumed"
    )
}

/// Whether an ordered certificate is there that nobody else can have put there.
fn is_ours(file: &Path, warnings: &mut Vec<String>) -> bool {
    ::files::own::is_there(file).unwrap_or_else(|error| {
        warnings.push(error.to_string());
        false
    })
}
