//! What one pool speaks TLS with, made of its files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use l7::tls::client::ClientTls;
use l7::tls::purpose::UsedAs;
use model::config::PoolTls;
use model::snapshot::Material;

use super::news::Why;
use crate::tls::authorities::Authorities;
use crate::tls::files::{self, Marks};
use crate::tls::trusted::revoked;

/// A pool.
#[derive(Clone, Debug)]
pub(super) struct OfPool {
    pub(super) config: PoolTls,
    pub(super) marks: Marks,
    pub(super) doubt: Option<Marks>,
    /// Its files hold something that was not taken.
    pub(super) refused: bool,
    pub(super) material: Material,
}

impl OfPool {
    pub(super) fn read(
        tls: &PoolTls,
        now: SystemTime,
        warnings: &mut Vec<String>,
    ) -> Result<OfPool, Why> {
        let marks = files::marks(&pool_paths(tls));
        let identity = match &tls.certificate {
            Some(path) => Some(files::pair(path)?.identity),
            None => None,
        };
        if let (Some(path), Some(identity)) = (&tls.certificate, &identity) {
            warnings.extend(files::doubt(path, identity, UsedAs::Client));
        }
        let authorities = Authorities::read(tls.verify, tls.ca.as_deref())?;
        let revoked = revoked(&tls.revoked, now, warnings, |_, _| ())?;
        let made = ClientTls::new(tls, (authorities.trust(), &revoked), identity.as_ref())?;
        let material = Material::new(Arc::new(made));
        Ok(OfPool { config: tls.clone(), marks, doubt: None, refused: false, material })
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        pool_paths(&self.config)
    }

    /// Whether its files look as when they were taken.
    pub(super) fn unchanged(&self) -> bool {
        !self.refused && files::marks(&self.paths()) == self.marks
    }
}

fn pool_paths(tls: &PoolTls) -> Vec<PathBuf> {
    tls.ca.iter().chain(&tls.certificate).chain(&tls.revoked.files).cloned().collect()
}
