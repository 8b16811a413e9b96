//! TLS settings and secrets of probes, read from their files once for each active configuration.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use files::secret::{SecretProtection, read_text};
use l7::tls::policy;
use l7::tls::trust::verifier;
use model::config::{ProbeTls, TlsPolicy};
use rustls::ClientConfig;
use rustls::sign::SingleCertAndKey;

use crate::tls::cert_files::read_pair;
use crate::tls::client_trust::read_revocation_lists;
use crate::tls::trust_store::TrustStore;

/// Bytes of a file with a secret.
/// A password or a community has some dozen bytes.
const SECRET_BYTES: u64 = 4_096;

/// Settings for TLS but for the name, with the protocol to agree on.
type TlsSettingsKey = (ProbeTls, Option<&'static [u8]>);

#[derive(Debug, Default)]
pub(super) struct ProbeTlsCache {
    tls: HashMap<TlsSettingsKey, Result<Arc<ClientConfig>, String>>,
    secrets: HashMap<PathBuf, Result<Arc<[u8]>, String>>,
}

impl ProbeTlsCache {
    /// Forgets everything: files may have changed.
    pub(super) fn clear(&mut self) {
        self.tls.clear();
        self.secrets.clear();
    }

    /// The settings for a probe over TLS, or why there are none.
    pub(super) fn client_config(
        &mut self,
        tls: &ProbeTls,
        alpn: Option<&'static [u8]>,
    ) -> Result<Arc<ClientConfig>, String> {
        let key = (ProbeTls { name: None, ..tls.clone() }, alpn);
        self.tls.entry(key).or_insert_with(|| client(tls, alpn)).clone()
    }

    /// A secret without the line's end that editors leave, or why there is none.
    pub(super) fn read_secret(&mut self, path: &Path) -> Result<Arc<[u8]>, String> {
        let read = || {
            let text = read_text(path, SECRET_BYTES, SecretProtection::NotReadable)
                .map_err(|error| error.to_string())?;
            Ok(text.trim_end_matches(['\r', '\n']).as_bytes().into())
        };
        self.secrets.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

fn client(tls: &ProbeTls, alpn: Option<&'static [u8]>) -> Result<Arc<ClientConfig>, String> {
    let authorities =
        TrustStore::read(tls.verify, tls.ca.as_deref()).map_err(|error| error.to_string())?;
    let mut warnings = Vec::new();
    let revoked = read_revocation_lists(&tls.revoked, SystemTime::now(), &mut warnings, |_, _| ())
        .map_err(|error| format!("tls.crl: {error}"))?;
    let provider = policy::provider(TlsPolicy::Intermediate);
    let verifier = verifier(authorities.as_server_trust(), &revoked, Arc::clone(&provider))
        .map_err(|error| format!("tls.ca: {error}"))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(policy::versions(tls.minimum))
        .map_err(|error| format!("TLS cannot be had: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &tls.certificate {
        Some(path) => {
            let pair = read_pair(path).map_err(|error| format!("tls.certificate: {error}"))?;
            let key = SingleCertAndKey::from(pair.identity.certified());
            builder.with_client_cert_resolver(Arc::new(key))
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = alpn.map(|name| name.to_vec()).into_iter().collect();
    // Every probe proves a whole handshake: a resumed one would not look at the certificate.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}
