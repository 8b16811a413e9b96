//! TLS settings and secrets of probes, read from their files once for each configuration in force.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::config::ProbeTls;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

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
            let text = crate::keep::read(path, SECRET_BYTES)
                .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            let text = text.ok_or_else(|| format!("{} does not exist", path.display()))?;
            Ok(text.trim_end_matches(['\r', '\n']).as_bytes().into())
        };
        self.secrets.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

fn client(tls: &ProbeTls, alpn: Option<&'static [u8]>) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be had: {error}"))?;
    let mut config = if tls.verify {
        builder.with_root_certificates(roots(tls.ca.as_deref())?).with_no_client_auth()
    } else {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth()
    };
    config.alpn_protocols = alpn.map(|name| name.to_vec()).into_iter().collect();
    // Every probe proves a whole handshake: a resumed one would not look at the certificate.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(path) = ca else {
        let loaded = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(loaded.certs);
        return match roots.is_empty() {
            true => Err("the system trusts nobody: set `tls.ca`".to_owned()),
            false => Ok(roots),
        };
    };
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let pem = std::fs::read(path).map_err(|error: io::Error| wrong(&error))?;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    match roots.is_empty() {
        true => Err(wrong(&"holds no certificate")),
        false => Ok(roots),
    }
}

/// Takes any certificate, as `verify = false` says; the handshake's signatures are still checked.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
