//! Trust anchors for connections to servers, for pools and health checks.
//!
//! No file is read here: authorities are passed as PEM text, or as the system's trust store.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::authorities::roots;
use super::identity::IdentityError;
use super::revocation::RevocationLists;

#[derive(Clone, Copy, Debug)]
pub enum TrustAnchors<'a> {
    /// The authorities in this PEM text.
    Text(&'a [u8]),
    /// The system's trusted authorities, in DER.
    System(&'a [Vec<u8>]),
    /// No verification: any certificate is accepted, if the server has its key.
    Anyone,
}

/// Why no trusted certificates could be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The authorities cannot be read.
    #[error("the servers' authorities: {0}")]
    Authorities(#[source] IdentityError),
    /// No authority or revocation list is usable.
    #[error("the servers' authorities: {0}")]
    Verifier(String),
}

/// The verifier of servers' certificates.
///
/// # Errors
/// See `TrustError`.
pub fn verifier(
    trust: TrustAnchors<'_>,
    revoked: &RevocationLists,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TrustError> {
    let roots = match trust {
        TrustAnchors::Text(text) => roots(text).map_err(TrustError::Authorities)?,
        TrustAnchors::System(all) => system(all)?,
        TrustAnchors::Anyone => return Ok(Arc::new(AnyServerVerifier(provider))),
    };
    let mut builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    if !revoked.is_empty() {
        builder = builder.with_crls(revoked.lists.iter().cloned());
        if !revoked.accept_expired {
            builder = builder.enforce_revocation_expiration();
        }
    }
    let verifier = builder.build();
    let verifier = verifier.map_err(|error| TrustError::Verifier(error.to_string()))?;
    Ok(verifier)
}

fn system(all: &[Vec<u8>]) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    // The system's store may contain a few old certificates that cannot be used; the others are sufficient.
    let (good, _) =
        roots.add_parsable_certificates(all.iter().map(|der| CertificateDer::from(der.clone())));
    if good == 0 {
        let text = "this machine trusts nobody: install ca-certificates, or name a file";
        return Err(TrustError::Verifier(text.to_owned()));
    }
    Ok(roots)
}

/// Accepts any certificate; the handshake's signatures are still verified.
#[derive(Debug)]
struct AnyServerVerifier(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServerVerifier {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
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
