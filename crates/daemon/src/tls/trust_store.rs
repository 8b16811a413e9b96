//! Authorities for servers' certificates, read from a file or taken from this machine.

use std::path::Path;

use l7::tls::trust::TrustAnchors;

use super::cert_files::CertFileError;
use super::client_trust::read_authorities;

/// Authorities that were read.
#[derive(Debug)]
pub enum TrustStore {
    /// A PEM file's text.
    Pem(Vec<u8>),
    /// The certificates of this host, as DER.
    System(Vec<Vec<u8>>),
    Insecure,
}

impl TrustStore {
    /// The trusted certificates: those of this file, or of this host's list. None if certificates are not verified.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(verify: bool, ca: Option<&Path>) -> Result<TrustStore, CertFileError> {
        Ok(match (verify, ca) {
            (false, _) => TrustStore::Insecure,
            (true, Some(path)) => TrustStore::Pem(read_authorities(path)?),
            (true, None) => {
                let found = rustls_native_certs::load_native_certs();
                TrustStore::System(found.certs.iter().map(|der| der.to_vec()).collect())
            }
        })
    }

    /// As the request plane takes them.
    pub fn as_server_trust(&self) -> TrustAnchors<'_> {
        match self {
            TrustStore::Pem(text) => TrustAnchors::Text(text),
            TrustStore::System(all) => TrustAnchors::System(all),
            TrustStore::Insecure => TrustAnchors::Anyone,
        }
    }
}
