//! The TLS settings of one pool, built from its files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use l7::tls::key_purpose::CertificateUse;
use l7::tls::upstream::UpstreamTls;
use model::config::PoolTls;
use model::snapshot::OpaqueMaterial;

use super::refresh_result::TlsFailure;
use crate::tls::cert_files;
use crate::tls::client_trust::read_revocation_lists;
use crate::tls::trust_store::TrustStore;
use crate::util::file_stamps::{FileStamps, certificate_stamps};

#[derive(Clone, Debug)]
pub(super) struct PoolTlsState {
    pub(super) config: PoolTls,
    pub(super) stamps: FileStamps,
    pub(super) pending_stamps: Option<FileStamps>,
    /// Its files hold something that was rejected.
    pub(super) has_rejected: bool,
    pub(super) material: OpaqueMaterial,
}

impl PoolTlsState {
    pub(super) fn read(
        tls: &PoolTls,
        now: SystemTime,
        warnings: &mut Vec<String>,
    ) -> Result<PoolTlsState, TlsFailure> {
        let marks = certificate_stamps(&pool_paths(tls));
        let identity = match &tls.certificate {
            Some(path) => Some(cert_files::read_pair(path)?.identity),
            None => None,
        };
        if let (Some(path), Some(identity)) = (&tls.certificate, &identity) {
            warnings.extend(cert_files::chain_warning(path, identity, CertificateUse::Client));
        }
        let authorities = TrustStore::read(tls.verify, tls.ca.as_deref())?;
        let revoked = read_revocation_lists(&tls.revoked, now, warnings, |_, _| ())?;
        let made =
            UpstreamTls::new(tls, authorities.as_server_trust(), &revoked, identity.as_ref())?;
        let material = OpaqueMaterial::new(Arc::new(made));
        Ok(PoolTlsState {
            config: tls.clone(),
            stamps: marks,
            pending_stamps: None,
            has_rejected: false,
            material,
        })
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        pool_paths(&self.config)
    }

    /// Whether its files are the same as when they were loaded.
    pub(super) fn is_unchanged(&self) -> bool {
        !self.has_rejected && certificate_stamps(&self.paths()) == self.stamps
    }
}

fn pool_paths(tls: &PoolTls) -> Vec<PathBuf> {
    tls.ca.iter().chain(&tls.certificate).chain(&tls.revoked.files).cloned().collect()
}
