//! Everything that services and pools speak TLS with, and what their files looked like when it was made.
//!
//! A configuration's files must all be good before it comes into force. Afterwards a file that changes is taken up
//! when it is good; otherwise what it held before goes on serving, and the status says why.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use l7::tls::client::{ClientTls, ClientTlsError};
use l7::tls::identity::Identity;
use l7::tls::server::{Ingredients, ServerTls, ServerTlsError};
use l7::tls::tickets::Tickets;
use model::config::{Config, Forward, Offer, PoolTls, Service, ServiceTls};
use model::snapshot::Material;

use super::authorities::Authorities;
use super::files::{self, FileError, Marks, Pair};
use super::held::{Kept, difference, taken};
use super::told::Told;
use crate::acme::place;

/// What is in force.
#[derive(Debug, Default)]
pub struct Vault {
    state: Option<PathBuf>,
    services: BTreeMap<String, OfService>,
    pools: BTreeMap<String, OfPool>,
}

/// What workers are given, by the names of services and pools.
#[derive(Clone, Debug, Default)]
pub struct Materials {
    /// Of services.
    pub services: BTreeMap<String, Material>,
    /// Of pools.
    pub pools: BTreeMap<String, Material>,
}

/// What a look found.
#[derive(Debug, Default)]
pub struct News {
    /// What changed for the better, a sentence each.
    pub taken: Vec<String>,
    /// What was not taken, and what to look at.
    pub refused: Vec<String>,
    /// Workers must be told.
    pub changed: bool,
}

/// Why a configuration's TLS cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{at}: {source}")]
pub struct VaultError {
    /// `service.shop.tls`.
    at: String,
    #[source]
    source: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Server(#[from] ServerTlsError),
    #[error(transparent)]
    Client(#[from] ClientTlsError),
    #[error("no key for session tickets: {0}")]
    Tickets(#[from] rustls::Error),
    #[error("acme: there is no state directory to keep a certificate in")]
    NoState,
}

#[derive(Clone, Debug)]
struct OfService {
    config: ServiceTls,
    carries: Carries,
    marks: Marks,
    doubt: Option<Marks>,
    tickets: Option<Tickets>,
    kept: Vec<Kept>,
    /// The certificate that is ordered for it: what it is called, and its file, which may not be there yet.
    ordered: Option<(String, PathBuf)>,
    /// What its authority looks for meanwhile.
    proofs: Vec<Arc<Identity>>,
    material: Material,
}

/// What a service speaks under TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Carries {
    http: bool,
    http2: bool,
}

impl Carries {
    fn of(service: &Service) -> Carries {
        let http = service.forward == Forward::Http;
        Carries { http, http2: http && service.http2.offer != Offer::Off }
    }
}

#[derive(Clone, Debug)]
struct OfPool {
    config: PoolTls,
    marks: Marks,
    doubt: Option<Marks>,
    material: Material,
}

impl Vault {
    /// Nothing yet; what is ordered is kept in this directory.
    pub fn in_state(state: Option<PathBuf>) -> Vault {
        Vault { state, ..Vault::default() }
    }

    /// Has services show these certificates to the authority of the order of this name, or nothing any more.
    pub fn prove(&mut self, key: &str, proofs: &[Arc<Identity>]) {
        for of in self.services.values_mut() {
            if of.ordered.as_ref().is_none_or(|(own, _)| own != key) || same(&of.proofs, proofs) {
                continue;
            }
            let with = OfService { proofs: proofs.to_vec(), ..of.clone() };
            // It was made from the same parts before; if it cannot be now, the authority finds nothing and says so.
            if let Ok(material) = with.make(&with.kept) {
                *of = OfService { material, ..with };
            }
        }
    }

    /// What a configuration needs, read from its files; what is in force and unchanged is kept. Also what an operator
    /// should know.
    ///
    /// # Errors
    /// A file is missing or no good. Nothing has changed.
    pub fn prepare(
        &self,
        config: &Config,
        now: SystemTime,
    ) -> Result<(Vault, Vec<String>), VaultError> {
        let mut next = Vault::in_state(self.state.clone());
        let mut warnings = Vec::new();
        for (name, service) in &config.services {
            let Some(tls) = &service.tls else { continue };
            let at = || format!("service.{name}.tls");
            let before = self.services.get(name);
            let of = match before {
                Some(before) if before.serves(service, tls) => before.clone(),
                _ => OfService::read((service, tls), before, (&self.state, now), &mut warnings)
                    .map_err(|source| VaultError { at: at(), source })?,
            };
            next.services.insert(name.clone(), of);
        }
        for (name, pool) in &config.pools {
            let Some(tls) = &pool.tls else { continue };
            let of = match self.pools.get(name) {
                Some(before) if before.config == *tls => before.clone(),
                _ => OfPool::read(tls).map_err(|source| {
                    let at = format!("pool.{name}.tls");
                    VaultError { at, source }
                })?,
            };
            next.pools.insert(name.clone(), of);
        }
        Ok((next, warnings))
    }

    /// Looks whether files have changed, and takes up what is good.
    pub fn look(&mut self, now: SystemTime) -> News {
        let mut news = News::default();
        for (name, of) in &mut self.services {
            if let Some(marks) = changed(&of.paths(), &of.marks, &mut of.doubt) {
                of.marks = marks;
                of.renew(name, now, &mut news);
            }
        }
        for (name, of) in &mut self.pools {
            let Some(marks) = changed(&of.paths(), &of.marks, &mut of.doubt) else { continue };
            of.marks = marks;
            match OfPool::read(&of.config) {
                Ok(fresh) => {
                    *of = fresh;
                    news.changed = true;
                    news.taken.push(format!("pool.{name}.tls: its changed files are in force"));
                }
                Err(why) => news.refused.push(format!("pool.{name}.tls: {why}; as before")),
            }
        }
        news
    }

    /// What workers are given.
    pub fn materials(&self) -> Materials {
        let services = self.services.iter();
        let pools = self.pools.iter();
        Materials {
            services: services.map(|(name, of)| (name.clone(), of.material.clone())).collect(),
            pools: pools.map(|(name, of)| (name.clone(), of.material.clone())).collect(),
        }
    }

    /// What is told of the certificates, by service.
    pub fn told(&self) -> BTreeMap<String, Vec<Told>> {
        let told = |of: &OfService| of.kept.iter().map(Kept::told).collect();
        self.services.iter().map(|(name, of)| (name.clone(), told(of))).collect()
    }
}

impl OfService {
    fn serves(&self, service: &Service, tls: &ServiceTls) -> bool {
        self.config == *tls && self.carries == Carries::of(service)
    }

    fn read(
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
            let Pair { identity } = files::pair(&file)?;
            kept.push(Kept { file, identity: Arc::new(identity), since: now, trouble: None });
        }
        if let Some((_, file)) = ordered.as_ref().filter(|(_, file)| file.exists()) {
            match taken(file, None, now) {
                Ok(held) => kept.push(held),
                // Another one is ordered.
                Err(why) => warnings.push(why),
            }
        }
        // The keys outlive a change of certificates, but not one of whom they let in.
        let same = |before: &&OfService| {
            before.config.client == tls.client && before.config.tickets == tls.tickets
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
            tickets,
            kept: Vec::new(),
            ordered,
            proofs: proofs.unwrap_or_default(),
            material: Material::new(Arc::new(())),
        };
        (of.material, of.kept) = (of.make(&kept)?, kept);
        Ok(of)
    }

    fn paths(&self) -> Vec<PathBuf> {
        paths_of(&self.config, self.ordered.iter().map(|(_, file)| file))
    }

    fn make(&self, kept: &[Kept]) -> Result<Material, Why> {
        let identities: Vec<_> = kept.iter().map(|kept| kept.identity.clone()).collect();
        let authorities = match &self.config.client {
            Some(client) => Some(files::read(&client.ca)?),
            None => None,
        };
        let from = Ingredients {
            config: &self.config,
            http: self.carries.http,
            http2: self.carries.http2,
            identities: &identities,
            authorities: authorities.as_deref(),
            tickets: self.tickets.as_ref(),
            ordered: self.ordered.is_some(),
            proofs: &self.proofs,
        };
        Ok(Material::new(Arc::new(ServerTls::new(&from)?)))
    }

    /// After a change of files: each on its own.
    fn renew(&mut self, name: &str, now: SystemTime, news: &mut News) {
        let mut files = match files::expand(&self.config.certificates) {
            Ok(files) => files,
            Err(why) => return self.as_before(name, &why, news),
        };
        // One that was in force and is gone is told of, and stays.
        let held = |file: &PathBuf| self.kept.iter().any(|kept| kept.file == *file);
        let ordered = self.ordered.iter().map(|(_, file)| file);
        files.extend(ordered.filter(|file| file.exists() || held(file)).cloned());
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
                    news.refused.push(format!("service.{name}.tls: {why}; as before"));
                    kept.push(Kept { trouble: Some(why), ..old.clone() });
                }
                (Err(why), None) => news.refused.push(format!("service.{name}.tls: {why}")),
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

    fn as_before(&mut self, name: &str, why: &dyn std::fmt::Display, news: &mut News) {
        news.refused.push(format!("service.{name}.tls: {why}; as before"));
        for kept in &mut self.kept {
            kept.trouble = Some(why.to_string());
        }
        news.changed = true;
    }
}

impl OfPool {
    fn read(tls: &PoolTls) -> Result<OfPool, Why> {
        let identity = match &tls.certificate {
            Some(path) => Some(files::pair(path)?.identity),
            None => None,
        };
        let authorities = Authorities::read(tls.verify, tls.ca.as_deref())?;
        let made = ClientTls::new(tls, authorities.trust(), identity.as_ref())?;
        let material = Material::new(Arc::new(made));
        let mut of = OfPool { config: tls.clone(), marks: Marks::new(), doubt: None, material };
        of.marks = files::marks(&of.paths());
        Ok(of)
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.config.ca.iter().chain(&self.config.certificate).cloned().collect()
    }
}

fn paths_of<'a>(tls: &ServiceTls, ordered: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let client = tls.client.iter().map(|it| it.ca.clone());
    tls.certificates.iter().cloned().chain(client).chain(ordered.cloned()).collect()
}

fn same(these: &[Arc<Identity>], those: &[Arc<Identity>]) -> bool {
    let mut pairs = these.iter().zip(those);
    these.len() == those.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
}

/// The files' marks when they differ from those before, and did so at the look before this one too.
fn changed(paths: &[PathBuf], before: &Marks, doubt: &mut Option<Marks>) -> Option<Marks> {
    let now = files::marks(paths);
    if now == *before {
        *doubt = None;
        return None;
    }
    if doubt.as_ref() == Some(&now) {
        *doubt = None;
        return Some(now);
    }
    *doubt = Some(now);
    None
}
