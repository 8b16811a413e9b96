//! Everything that services and pools speak TLS with, what their files looked like when it was made, and the secrets of
//! cookies, which `crate::cookies` reads.
//!
//! A configuration's files must all be good before it comes into force. Afterwards a file that changes is taken up
//! when it is good; otherwise what it held before goes on serving, and the status says why.

mod news;
mod pool;
mod probes;
mod service;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use l7::tls::identity::Identity;
use model::affinity::cookie::Secrets;
use model::config::Config;
use model::snapshot::Material;

pub use self::news::News;
use self::news::Why;
use self::pool::OfPool;
use self::service::OfService;
use super::files::{self, Marks};
use super::held::Kept;
use super::told::Told;
use crate::cookies::{self, CookieError, Cookies};

/// What is in force.
#[derive(Debug, Default)]
pub struct Vault {
    state: Option<PathBuf>,
    services: BTreeMap<String, OfService>,
    pools: BTreeMap<String, OfPool>,
    /// The secrets of cookies.
    pub cookies: Cookies,
}

/// What workers are given, by the names of services and pools.
#[derive(Clone, Debug, Default)]
pub struct Materials {
    /// Of services.
    pub services: BTreeMap<String, Material>,
    /// Of pools.
    pub pools: BTreeMap<String, Material>,
    /// What words of our cookies are made with.
    pub cookies: Arc<Secrets>,
}

/// What a configuration needs.
#[derive(Debug)]
pub struct Prepared {
    /// It, ready.
    pub vault: Vault,
    /// What an operator should know.
    pub warnings: Vec<String>,
    /// What was taken up from files that changed, a sentence each.
    pub taken: Vec<String>,
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

impl VaultError {
    /// The key that it is about: `service.shop.tls`.
    pub fn key(&self) -> &str {
        &self.at
    }

    /// What is wrong.
    pub fn reason(&self) -> String {
        self.source.to_string()
    }
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

    /// What a configuration needs, read from its files; what is in force and unchanged on disk too is kept.
    ///
    /// # Errors
    /// A file is missing or no good. Nothing has changed.
    pub fn prepare(&self, config: &Config, now: SystemTime) -> Result<Prepared, VaultError> {
        let (mut prepared, troubles) = self.prepared(config, now);
        // Here alone: who only looks draws no secret and keeps none.
        if config.global.sticky_secret_file.is_none()
            && let Ok(cookies) = self.cookies.under(config, self.state.as_deref())
        {
            prepared.vault.cookies = cookies;
        }
        troubles.into_iter().next().map_or(Ok(prepared), Err)
    }

    /// The same with everything that is no good.
    pub fn prepared(&self, config: &Config, now: SystemTime) -> (Prepared, Vec<VaultError>) {
        let mut next = Vault::in_state(self.state.clone());
        let (mut news, mut warnings, mut troubles) = (News::default(), Vec::new(), Vec::new());
        next.cookies = self.cookies.clone();
        match config
            .global
            .sticky_secret_file
            .as_ref()
            .map(|_| self.cookies.under(config, self.state.as_deref()))
        {
            None => {}
            Some(Ok(cookies)) => next.cookies = cookies,
            Some(Err(why)) => {
                troubles.push(VaultError { at: cookies::KEY.to_owned(), source: why.into() })
            }
        }
        for (name, service) in &config.services {
            let Some(tls) = &service.tls else { continue };
            let (before, told) = (self.services.get(name), warnings.len());
            let fresh = match before {
                Some(before) if before.serves(service, tls) && before.unchanged() => {
                    Ok(before.clone())
                }
                _ => OfService::read((service, tls), before, (&self.state, now), &mut warnings),
            };
            name_from(&mut warnings, told, &format!("service.{name}.tls"));
            match fresh {
                Ok(of) => {
                    of.differs(name, before, &mut news);
                    next.services.insert(name.clone(), of);
                }
                Err(source) => {
                    troubles.push(VaultError { at: format!("service.{name}.tls"), source });
                }
            }
        }
        for (name, pool) in &config.pools {
            let Some(tls) = &pool.tls else { continue };
            let before = self.pools.get(name).filter(|before| before.config == *tls);
            let told = warnings.len();
            let fresh = match before {
                Some(before) if before.unchanged() => Ok(before.clone()),
                _ => OfPool::read(tls, now, &mut warnings),
            };
            name_from(&mut warnings, told, &format!("pool.{name}.tls"));
            match fresh {
                Ok(of) => {
                    if before.is_some_and(|before| !before.unchanged()) {
                        news.taken.push(format!("pool.{name}.tls: its changed files are in force"));
                    }
                    next.pools.insert(name.clone(), of);
                }
                Err(source) => {
                    troubles.push(VaultError { at: format!("pool.{name}.tls"), source });
                }
            }
        }
        warnings.extend(probes::troubles(config, now));
        (Prepared { vault: next, warnings, taken: news.taken }, troubles)
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
            match OfPool::read(&of.config, now, &mut news.refused) {
                Ok(fresh) => {
                    *of = fresh;
                    news.changed = true;
                    news.taken.push(format!("pool.{name}.tls: its changed files are in force"));
                }
                Err(why) => {
                    of.refused = true;
                    news.refused.push(format!("pool.{name}.tls: {why}; as before"));
                }
            }
        }
        news
    }

    /// Looks whether the secret of cookies has changed, and takes it up when it is good.
    pub fn look_at_cookies(&mut self) -> Option<Result<(), CookieError>> {
        self.cookies.look(self.state.as_deref())
    }

    /// What workers are given.
    pub fn materials(&self) -> Materials {
        let services = self.services.iter();
        let pools = self.pools.iter();
        Materials {
            services: services.map(|(name, of)| (name.clone(), of.material.clone())).collect(),
            pools: pools.map(|(name, of)| (name.clone(), of.material.clone())).collect(),
            cookies: self.cookies.secrets(),
        }
    }

    /// What is told of the certificates, by service.
    pub fn told(&self) -> BTreeMap<String, Vec<Told>> {
        let told = |of: &OfService| of.kept.iter().map(Kept::told).collect();
        self.services.iter().map(|(name, of)| (name.clone(), told(of))).collect()
    }
}

/// Says of each warning from a position on which key it is about.
fn name_from(warnings: &mut [String], from: usize, key: &str) {
    for warning in warnings.iter_mut().skip(from) {
        *warning = format!("{key}: {warning}");
    }
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
