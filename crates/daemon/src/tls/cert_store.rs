//! Everything that services and pools speak TLS with, what their files looked like when it was made, the secrets of
//! cookies, which `sticky_secrets` reads, and what `stores` reads beside.
//!
//! All files of a configuration must be valid before the configuration becomes active. A file that changes later is
//! loaded if it is valid. Otherwise its previous content stays active, and the status has the reason.

mod pool;
mod probe_files;
mod refresh_result;
mod service;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use l7::tls::identity::TlsIdentity;
use model::affinity::cookie::AffinitySecrets;
use model::config::{Config, NetworkSet};
use model::error_pages::ErrorPages;
use model::snapshot::OpaqueMaterial;

use self::pool::PoolTlsState;
pub use self::refresh_result::RefreshResult;
use self::refresh_result::TlsFailure;
use self::service::ServiceTlsState;
use super::active_cert::ActiveCertificate;
use crate::state::cert_status::CertificateInfo;
use crate::state::tls_config_error::TlsConfigError;
use crate::stores::auth_store::AuthStore;
use crate::stores::auth_store::auth_fault::ReloadedAuth;
use crate::stores::error_page_store::ErrorPageStore;
use crate::stores::key_set::KeySetSetup;
use crate::stores::network_file_store::NetworkFileStore;
use crate::tls::key_set_fetch::{check_authorities, fetch_key_set};
use crate::tls::sticky_secrets::{self, CookieError, StickySecrets};
use crate::util::file_stamps::{FileStamps, certificate_stamps};

#[derive(Debug, Default)]
pub struct CertificateStore {
    state_dir: Option<PathBuf>,
    services: BTreeMap<String, ServiceTlsState>,
    pools: BTreeMap<String, PoolTlsState>,
    /// The secrets of cookies.
    pub cookies: StickySecrets,
    /// The error pages of services.
    pages: ErrorPageStore,
    /// The files of networks that services trust.
    pub networks: NetworkFileStore,
    /// The objects of authentication.
    pub auth: AuthStore,
}

/// The TLS settings of workers, by the names of services and pools.
#[derive(Clone, Debug, Default)]
pub struct TlsMaterials {
    pub services: BTreeMap<String, OpaqueMaterial>,
    pub pools: BTreeMap<String, OpaqueMaterial>,
    /// Secrets that sign affinity cookies.
    pub cookies: Arc<AffinitySecrets>,
    /// The objects of authentication; `None`: there are none.
    pub auth: Option<OpaqueMaterial>,
    /// Error pages by the names of services.
    pub error_pages: BTreeMap<String, Arc<ErrorPages>>,
    /// Trusted networks from files, by the names of services.
    pub networks: BTreeMap<String, Arc<NetworkSet>>,
}

/// The certificates of a configuration.
#[derive(Debug)]
pub struct PreparedStore {
    pub store: CertificateStore,
    /// Warnings for the operator.
    pub warnings: Vec<String>,
    /// Changed files that were loaded, a sentence each.
    pub reloaded: Vec<String>,
    /// The same of error pages.
    pub pages: Vec<String>,
    /// The same of files of networks.
    pub networks: Vec<String>,
    /// The same of authentication.
    pub auths: Vec<String>,
}

/// Changed files that were loaded, a sentence each.
struct ReloadedStores {
    pages: Vec<String>,
    auths: Vec<String>,
    networks: Vec<String>,
}

/// The certificates of a configuration, and every error that was found in them.
#[derive(Debug)]
pub struct CertificateCheck {
    /// Without the services and pools that have errors.
    pub prepared: PreparedStore,
    pub errors: Vec<TlsConfigError>,
}

impl CertificateStore {
    /// An empty store; ordered certificates are stored in this directory.
    pub fn new(state: Option<PathBuf>) -> CertificateStore {
        CertificateStore { state_dir: state, ..CertificateStore::default() }
    }

    /// Publishes these certificates as challenge responses to the order of this name, or withdraws them.
    pub fn set_challenges(&mut self, key: &str, proofs: &[Arc<TlsIdentity>]) {
        for of in self.services.values_mut() {
            if of.ordered.as_ref().is_none_or(|order| order.key != key)
                || same(&of.challenges, proofs)
            {
                continue;
            }
            let with = ServiceTlsState { challenges: proofs.to_vec(), ..of.clone() };
            // The same parts were accepted before. If this fails, validation fails and reports it.
            if let Ok(material) = with.build_material(&with.certificates) {
                *of = ServiceTlsState { material, ..with };
            }
        }
    }

    /// Loads the files of a configuration. Active certificates whose files are unchanged are reused.
    ///
    /// # Errors
    /// A file is missing or no good. Nothing has changed.
    pub fn prepare(
        &self,
        config: &Config,
        now: SystemTime,
    ) -> Result<PreparedStore, TlsConfigError> {
        let CertificateCheck { mut prepared, errors } = self.prepare_all(config, now);
        // Secrets are drawn only here: a configuration that is merely checked draws and stores none.
        if config.global.sticky_secret_file.is_none()
            && let Ok(cookies) = self.cookies.for_config(config, self.state_dir.as_deref())
        {
            prepared.store.cookies = cookies;
        }
        errors.into_iter().next().map_or(Ok(prepared), Err)
    }

    /// The same, and every error instead of the first.
    pub fn prepare_all(&self, config: &Config, now: SystemTime) -> CertificateCheck {
        let mut next = CertificateStore::new(self.state_dir.clone());
        let mut news = RefreshResult::default();
        let mut warnings = Vec::new();
        let mut errors = Vec::new();
        next.cookies = self.prepare_cookies(config).unwrap_or_else(|error| {
            errors.push(error);
            self.cookies.clone()
        });
        let beside = self.prepare_stores(config, &mut next, &mut errors);
        for (name, service) in &config.services {
            let Some(tls) = &service.tls else { continue };
            let before = self.services.get(name);
            let told = warnings.len();
            let fresh = match before {
                Some(before) if before.is_for(service, tls) && before.is_unchanged() => {
                    Ok(before.clone())
                }
                _ => {
                    ServiceTlsState::read(service, tls, before, &self.state_dir, now, &mut warnings)
                }
            };
            prefix_warnings(&mut warnings, told, &format!("service.{name}.tls"));
            match fresh {
                Ok(of) => {
                    of.report_differences(name, before, &mut news);
                    next.services.insert(name.clone(), of);
                }
                Err(source) => {
                    errors.push(TlsConfigError::new(format!("service.{name}.tls"), source));
                }
            }
        }
        for (name, pool) in &config.pools {
            let Some(tls) = &pool.tls else { continue };
            let before = self.pools.get(name).filter(|before| before.config == *tls);
            let told = warnings.len();
            let fresh = match before {
                Some(before) if before.is_unchanged() => Ok(before.clone()),
                _ => PoolTlsState::read(tls, now, &mut warnings),
            };
            prefix_warnings(&mut warnings, told, &format!("pool.{name}.tls"));
            match fresh {
                Ok(of) => {
                    if before.is_some_and(|before| !before.is_unchanged()) {
                        news.reloaded
                            .push(format!("pool.{name}.tls: its changed files are active"));
                    }
                    next.pools.insert(name.clone(), of);
                }
                Err(source) => {
                    errors.push(TlsConfigError::new(format!("pool.{name}.tls"), source));
                }
            }
        }
        warnings.extend(probe_files::probe_file_errors(config, now));
        let prepared = PreparedStore {
            store: next,
            warnings,
            reloaded: news.reloaded,
            pages: beside.pages,
            auths: beside.auths,
            networks: beside.networks,
        };
        CertificateCheck { prepared, errors }
    }

    /// Reads the files of error pages, of authentication and of networks.
    fn prepare_stores(
        &self,
        config: &Config,
        next: &mut CertificateStore,
        errors: &mut Vec<TlsConfigError>,
    ) -> ReloadedStores {
        let pages = self.pages.prepare(config);
        let faults = pages.errors.into_iter();
        errors.extend(faults.map(|fault| TlsConfigError::new(fault.key, fault.error)));
        next.pages = pages.store;
        errors.extend(check_authorities(config));
        let setup = KeySetSetup { state_dir: self.state_dir.clone(), fetch: fetch_key_set };
        let auth = self.auth.prepare(config, &setup);
        let faults = auth.errors.into_iter();
        errors.extend(faults.map(|fault| TlsConfigError::new(fault.key, fault.error)));
        next.auth = auth.store;
        let networks = self.networks.prepare(config);
        let faults = networks.errors.into_iter();
        errors.extend(faults.map(|fault| TlsConfigError::new(fault.key, fault.error)));
        next.networks = networks.store;
        ReloadedStores { pages: pages.reloaded, auths: auth.reloaded, networks: networks.reloaded }
    }

    fn prepare_cookies(&self, config: &Config) -> Result<StickySecrets, TlsConfigError> {
        if config.global.sticky_secret_file.is_none() {
            return Ok(self.cookies.clone());
        }
        let cookies = self.cookies.for_config(config, self.state_dir.as_deref());
        cookies.map_err(|why| TlsConfigError::new(sticky_secrets::KEY, TlsFailure::from(why)))
    }

    /// Checks for changed files, and loads the valid ones.
    pub fn reload(&mut self, now: SystemTime) -> RefreshResult {
        let mut news = RefreshResult::default();
        for (name, of) in &mut self.services {
            if let Some(marks) = settled_change(&of.paths(), &of.stamps, &mut of.pending_stamps) {
                of.stamps = marks;
                of.reload(name, now, &mut news);
            }
        }
        for (name, of) in &mut self.pools {
            let Some(marks) = settled_change(&of.paths(), &of.stamps, &mut of.pending_stamps)
            else {
                continue;
            };
            of.stamps = marks;
            match PoolTlsState::read(&of.config, now, &mut news.rejected) {
                Ok(fresh) => {
                    *of = fresh;
                    news.changed = true;
                    news.reloaded.push(format!("pool.{name}.tls: its changed files are active"));
                }
                Err(why) => {
                    of.has_rejected = true;
                    news.rejected.push(format!("pool.{name}.tls: {why}; as before"));
                }
            }
        }
        news
    }

    /// Looks whether the secret of cookies has changed, and takes it up when it is good.
    pub fn reload_cookies(&mut self) -> Option<Result<(), CookieError>> {
        self.cookies.reload(self.state_dir.as_deref())
    }

    /// Looks whether files of error pages have changed, and reads them when all are good.
    pub fn reload_pages(&mut self) -> Option<Result<Vec<String>, TlsConfigError>> {
        let reloaded = self.pages.reload()?;
        Some(reloaded.map_err(|fault| TlsConfigError::new(fault.key, fault.error)))
    }

    /// Looks whether files of authentication have changed, and reads those that are good.
    pub fn reload_auth(&mut self) -> ReloadedAuth {
        self.auth.reload()
    }

    /// Begins to fetch the keys of tokens that are not there yet.
    pub fn begin_fetching(&self) {
        self.auth.begin_fetching(self.state_dir.as_deref());
    }

    pub fn materials(&self) -> TlsMaterials {
        let services = self.services.iter();
        let pools = self.pools.iter();
        TlsMaterials {
            services: services.map(|(name, of)| (name.clone(), of.material.clone())).collect(),
            pools: pools.map(|(name, of)| (name.clone(), of.material.clone())).collect(),
            cookies: self.cookies.secrets(),
            auth: self.auth.material(),
            error_pages: self.pages.pages(),
            networks: self.networks.networks(),
        }
    }

    /// Information about certificates, by service.
    pub fn certificates(&self) -> BTreeMap<String, Vec<CertificateInfo>> {
        let told =
            |of: &ServiceTlsState| of.certificates.iter().map(ActiveCertificate::info).collect();
        self.services.iter().map(|(name, of)| (name.clone(), told(of))).collect()
    }
}

/// Prefixes the warnings from a position on with their key.
fn prefix_warnings(warnings: &mut [String], from: usize, key: &str) {
    for warning in warnings.iter_mut().skip(from) {
        *warning = format!("{key}: {warning}");
    }
}

fn same(these: &[Arc<TlsIdentity>], those: &[Arc<TlsIdentity>]) -> bool {
    let mut pairs = these.iter().zip(those);
    these.len() == those.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
}

/// The files' state if it differs from the loaded one, and was the same at the previous check.
fn settled_change(
    paths: &[PathBuf],
    before: &FileStamps,
    doubt: &mut Option<FileStamps>,
) -> Option<FileStamps> {
    let now = certificate_stamps(paths);
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
