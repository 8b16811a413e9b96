//! The TLS settings of one service, built from its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use l7::tls::downstream::{DownstreamTls, DownstreamTlsParts};
use l7::tls::identity::TlsIdentity;
use l7::tls::key_purpose::CertificateUse;
use l7::tls::session_tickets::SessionTickets;
use model::config::{ClientHttp2Mode, ForwardingMode, ServiceConfig, ServiceTls};
use model::snapshot::OpaqueMaterial;

use super::refresh_result::{RefreshResult, TlsFailure};
use crate::tls::acme::paths;
use crate::tls::active_cert::{ActiveCertificate, accept_renewed, describe_difference};
use crate::tls::cert_files::{self, CertificatePair};
use crate::tls::client_trust::ClientTrustFiles;
use crate::util::file_stamps::{FileStamps, certificate_stamps};

#[derive(Clone, Debug)]
pub(super) struct ServiceTlsState {
    pub(super) config: ServiceTls,
    pub(super) alpn: AlpnProtocols,
    pub(super) stamps: FileStamps,
    pub(super) pending_stamps: Option<FileStamps>,
    /// Its files hold something that was rejected.
    pub(super) has_rejected: bool,
    pub(super) tickets: Option<SessionTickets>,
    /// The trust files for client certificates, if client certificates are requested.
    pub(super) client_trust: Option<Arc<ClientTrustFiles>>,
    pub(super) certificates: Vec<ActiveCertificate>,
    /// The certificate that is ordered for it.
    pub(super) ordered: Option<OrderedCertificate>,
    /// Challenge responses to serve meanwhile.
    pub(super) challenges: Vec<Arc<TlsIdentity>>,
    pub(super) material: OpaqueMaterial,
}

/// A certificate that is ordered by ACME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrderedCertificate {
    /// The name of the order.
    pub(super) key: String,
    /// The certificate's file, which may not exist yet.
    pub(super) file: PathBuf,
}

/// The protocols that a service negotiates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AlpnProtocols {
    http: bool,
    http2: bool,
}

impl AlpnProtocols {
    fn from_service(service: &ServiceConfig) -> AlpnProtocols {
        let http = service.forward == ForwardingMode::Http;
        AlpnProtocols { http, http2: http && service.http2.offer != ClientHttp2Mode::Off }
    }
}

impl ServiceTlsState {
    pub(super) fn is_for(&self, service: &ServiceConfig, tls: &ServiceTls) -> bool {
        self.config == *tls && self.alpn == AlpnProtocols::from_service(service)
    }

    pub(super) fn read(
        service: &ServiceConfig,
        tls: &ServiceTls,
        before: Option<&ServiceTlsState>,
        state: &Option<PathBuf>,
        now: SystemTime,
        warnings: &mut Vec<String>,
    ) -> Result<ServiceTlsState, TlsFailure> {
        let carries = AlpnProtocols::from_service(service);
        let ordered = match (&tls.acme, state) {
            (Some(acme), Some(state)) => {
                let file = paths::certificate_path(state, acme);
                Some(OrderedCertificate { key: paths::key(acme), file })
            }
            (Some(_), None) => return Err(TlsFailure::NoState),
            (None, _) => None,
        };
        let file = ordered.iter().map(|order| &order.file);
        let marks = certificate_stamps(&certificate_paths(tls, file));
        let mut kept = read_certificates(tls, before, now, warnings)?;
        if let Some(OrderedCertificate { file, .. }) =
            ordered.as_ref().filter(|order| is_trusted_order(&order.file, warnings))
        {
            let old = before.and_then(|it| it.certificates.iter().find(|kept| kept.file == *file));
            match (accept_renewed(file, old, now), old) {
                (Ok(held), _) => kept.push(held),
                // Another one is ordered.
                (Err(why), Some(old)) => {
                    kept.push(ActiveCertificate { last_error: Some(why), ..old.clone() })
                }
                (Err(why), None) => warnings.push(why),
            }
        }
        let clients = match &tls.client {
            Some(client) => Some(Arc::new(ClientTrustFiles::read(client, now, warnings)?)),
            None => None,
        };
        // The keys outlive a change of certificates, but none of whom they let in.
        let same = |before: &&ServiceTlsState| {
            let terms = |tls: &ServiceTls| {
                (tls.client.clone(), tls.tickets, tls.policy, tls.minimum, tls.unknown_name)
            };
            terms(&before.config) == terms(tls) && before.client_trust == clients
        };
        let tickets = match before.filter(same) {
            Some(before) => before.tickets.clone(),
            None => tls.tickets.map(SessionTickets::new).transpose()?,
        };
        let proofs = before.filter(|it| it.ordered == ordered).map(|it| it.challenges.clone());
        let mut of = ServiceTlsState {
            config: tls.clone(),
            alpn: carries,
            stamps: marks,
            pending_stamps: None,
            has_rejected: false,
            tickets,
            client_trust: clients,
            certificates: Vec::new(),
            ordered,
            challenges: proofs.unwrap_or_default(),
            material: OpaqueMaterial::new(Arc::new(())),
        };
        of.material = of.build_material(&kept)?;
        of.certificates = kept;
        Ok(of)
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        certificate_paths(&self.config, self.ordered.iter().map(|order| &order.file))
    }

    pub(super) fn build_material(
        &self,
        kept: &[ActiveCertificate],
    ) -> Result<OpaqueMaterial, TlsFailure> {
        let identities: Vec<_> = kept.iter().map(|kept| kept.identity.clone()).collect();
        let from = DownstreamTlsParts {
            config: &self.config,
            http: self.alpn.http,
            http2: self.alpn.http2,
            identities: &identities,
            clients: self.client_trust.as_deref().map(ClientTrustFiles::as_client_trust),
            tickets: self.tickets.as_ref(),
            ordered: self.ordered.is_some(),
            challenge_identities: &self.challenges,
        };
        Ok(OpaqueMaterial::new(Arc::new(DownstreamTls::new(&from)?)))
    }

    /// Reloads changed files, each separately.
    pub(super) fn reload(&mut self, name: &str, now: SystemTime, news: &mut RefreshResult) {
        self.has_rejected = false;
        if let Err(why) = self.reload_client_trust(name, now, news) {
            return self.keep_previous(name, &why, news);
        }
        let mut files = match cert_files::expand_paths(&self.config.certificates) {
            Ok(files) => files,
            Err(why) => return self.keep_previous(name, &why, news),
        };
        // An active file that has disappeared is logged, and its certificate stays in use.
        let there = |file: &PathBuf| ::files::owned_file::is_present(file).unwrap_or(false);
        let held = |file: &PathBuf| self.certificates.iter().any(|kept| kept.file == *file);
        let ordered = self.ordered.iter().map(|order| &order.file);
        files.extend(ordered.filter(|file| there(file) || held(file)).cloned());
        let mut kept = Vec::new();
        for file in files {
            let old = self.certificates.iter().find(|kept| kept.file == file);
            match (accept_renewed(&file, old, now), old) {
                (Ok(fresh), old) => {
                    if let Some(sentence) = describe_difference(old, &fresh) {
                        news.reloaded.push(format!("service.{name}.tls: {sentence}"));
                    }
                    kept.push(fresh);
                }
                (Err(why), Some(old)) => {
                    self.has_rejected = true;
                    news.rejected.push(format!("service.{name}.tls: {why}; as before"));
                    kept.push(ActiveCertificate { last_error: Some(why), ..old.clone() });
                }
                (Err(why), None) => {
                    self.has_rejected = true;
                    news.rejected.push(format!("service.{name}.tls: {why}"));
                }
            }
        }
        match self.build_material(&kept) {
            Ok(material) => {
                self.material = material;
                self.certificates = kept;
                news.changed = true;
            }
            Err(why) => self.keep_previous(name, &why, news),
        }
    }

    /// Reloads the trust of client certificates. Sessions that began under other files are not resumed.
    pub(super) fn reload_client_trust(
        &mut self,
        name: &str,
        now: SystemTime,
        news: &mut RefreshResult,
    ) -> Result<(), TlsFailure> {
        let Some(client) = &self.config.client else { return Ok(()) };
        let fresh = ClientTrustFiles::read(client, now, &mut news.rejected)?;
        let changed = fresh.changed_files(self.client_trust.as_deref());
        if changed.is_empty() {
            return Ok(());
        }
        let tickets = self.config.tickets.map(SessionTickets::new).transpose()?;
        let next = ServiceTlsState { client_trust: Some(Arc::new(fresh)), tickets, ..self.clone() };
        let material = next.build_material(&next.certificates)?;
        *self = ServiceTlsState { material, ..next };
        news.reloaded.push(client_files_changed(name, &changed));
        Ok(())
    }

    /// Logs differences to the previous certificates.
    pub(super) fn report_differences(
        &self,
        name: &str,
        before: Option<&ServiceTlsState>,
        news: &mut RefreshResult,
    ) {
        let Some(before) = before else { return };
        for kept in &self.certificates {
            let old = before.certificates.iter().find(|old| old.file == kept.file);
            if let Some(sentence) = describe_difference(old, kept).filter(|_| old.is_some()) {
                news.reloaded.push(format!("service.{name}.tls: {sentence}"));
            }
        }
        let same = before.config.client == self.config.client;
        let changed = self
            .client_trust
            .iter()
            .flat_map(|it| it.changed_files(before.client_trust.as_deref()));
        let changed: Vec<String> = changed.filter(|_| same).collect();
        if !changed.is_empty() {
            news.reloaded.push(client_files_changed(name, &changed));
        }
    }

    /// Whether its files are the same as when they were loaded.
    pub(super) fn is_unchanged(&self) -> bool {
        !self.has_rejected && certificate_stamps(&self.paths()) == self.stamps
    }

    pub(super) fn keep_previous(
        &mut self,
        name: &str,
        why: &dyn std::fmt::Display,
        news: &mut RefreshResult,
    ) {
        news.rejected.push(format!("service.{name}.tls: {why}; as before"));
        for kept in &mut self.certificates {
            kept.last_error = Some(why.to_string());
        }
        self.has_rejected = true;
        news.changed = true;
    }
}

/// The certificates that the configuration names.
fn read_certificates(
    tls: &ServiceTls,
    before: Option<&ServiceTlsState>,
    now: SystemTime,
    warnings: &mut Vec<String>,
) -> Result<Vec<ActiveCertificate>, TlsFailure> {
    let mut certificates = Vec::new();
    for file in cert_files::expand_paths(&tls.certificates)? {
        let old = before.and_then(|it| it.certificates.iter().find(|old| old.file == file));
        certificates.push(match old {
            Some(old) => accept_renewed(&file, Some(old), now).map_err(TlsFailure::Stored)?,
            None => {
                let CertificatePair { identity } = cert_files::read_pair(&file)?;
                warnings.extend(cert_files::chain_warning(
                    &file,
                    &identity,
                    CertificateUse::Server,
                ));
                ActiveCertificate {
                    file,
                    identity: Arc::new(identity),
                    active_since: now,
                    last_error: None,
                }
            }
        });
    }
    Ok(certificates)
}

fn certificate_paths<'a>(
    tls: &ServiceTls,
    ordered: impl Iterator<Item = &'a PathBuf>,
) -> Vec<PathBuf> {
    let client = tls.client.iter().flat_map(|it| std::iter::once(&it.ca).chain(&it.revoked.files));
    let client = client.cloned();
    tls.certificates.iter().cloned().chain(client).chain(ordered.cloned()).collect()
}

fn client_files_changed(name: &str, files: &[String]) -> String {
    let files = files.join(", ");
    format!(
        "service.{name}.tls.client: {files}: new content is active; sessions of before are not resumed"
    )
}

/// Whether an ordered certificate exists that only this daemon can have written.
fn is_trusted_order(file: &Path, warnings: &mut Vec<String>) -> bool {
    ::files::owned_file::is_present(file).unwrap_or_else(|error| {
        warnings.push(error.to_string());
        false
    })
}
