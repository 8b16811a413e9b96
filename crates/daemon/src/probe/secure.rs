//! TLS settings and secrets of probes, read from their files once for each configuration in force.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::secret::{Kept, read_text};
use l7::tls::trust::verifier;
use model::config::ProbeTls;
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;

use crate::tls::authorities::Authorities;

/// Bytes of a file with a secret.
const SECRET_BYTES: u64 = 4_096;

/// Settings for TLS, with the protocol to agree on.
type Key = (Option<PathBuf>, bool, Option<&'static [u8]>);

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Secure {
    tls: HashMap<Key, Result<Arc<ClientConfig>, String>>,
    secrets: HashMap<PathBuf, Result<Arc<[u8]>, String>>,
}

impl Secure {
    /// Forgets everything: files may have changed.
    pub(super) fn clear(&mut self) {
        self.tls.clear();
        self.secrets.clear();
    }

    /// The settings for a probe over TLS, or why there are none.
    pub(super) fn tls(
        &mut self,
        tls: &ProbeTls,
        alpn: Option<&'static [u8]>,
    ) -> Result<Arc<ClientConfig>, String> {
        let key = (tls.ca.clone(), tls.verify, alpn);
        self.tls.entry(key).or_insert_with(|| client(tls, alpn)).clone()
    }

    /// A secret without the line's end that editors leave, or why there is none.
    pub(super) fn secret(&mut self, path: &Path) -> Result<Arc<[u8]>, String> {
        let read = || {
            let text = read_text(path, SECRET_BYTES, Kept::Unread).map_err(|it| it.to_string())?;
            Ok(text.trim_end_matches(['\r', '\n']).as_bytes().into())
        };
        self.secrets.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

fn client(tls: &ProbeTls, alpn: Option<&'static [u8]>) -> Result<Arc<ClientConfig>, String> {
    let authorities =
        Authorities::read(tls.verify, tls.ca.as_deref()).map_err(|error| error.to_string())?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = verifier(authorities.trust(), Arc::clone(&provider))
        .map_err(|error| format!("tls.ca: {error}"))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be had: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = alpn.map(|name| name.to_vec()).into_iter().collect();
    // Every probe proves a whole handshake: a resumed one would not look at the certificate.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}
