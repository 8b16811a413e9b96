//! Client certificate authentication: which connections must present a certificate, and whether it is valid, now and
//! when a session is resumed.
//!
//! The library stores a client's certificate with its session and does not verify it again on resumption: `recheck`
//! does.

use std::sync::Arc;

use model::config::ClientAuth;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::authorities::roots;
use super::handshake_observation;
use super::identity::IdentityError;
use super::revocation::RevocationLists;

/// The authorities of client certificates, and revoked certificates.
#[derive(Clone, Copy, Debug)]
pub struct ClientTrust<'a> {
    /// PEM of the authorities.
    pub authorities: &'a [u8],
    /// The revocation lists.
    pub revoked: &'a RevocationLists,
}

/// Why client certificates cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum ClientTrustError {
    /// The authorities cannot be read.
    #[error("the clients' authorities: {0}")]
    Authorities(#[source] IdentityError),
    /// The authorities or revocation lists are not usable.
    #[error("the clients' authorities: {0}")]
    Verifier(String),
}

#[derive(Debug)]
pub struct ClientVerifier {
    inner: Arc<dyn ClientCertVerifier>,
    config: ClientAuth,
}

impl ClientVerifier {
    /// A verifier with these settings.
    ///
    /// # Errors
    /// See `ClientTrustError`.
    pub fn new(
        config: &ClientAuth,
        trust: ClientTrust<'_>,
        provider: Arc<CryptoProvider>,
    ) -> Result<ClientVerifier, ClientTrustError> {
        let roots = Arc::new(roots(trust.authorities).map_err(ClientTrustError::Authorities)?);
        let mut builder = WebPkiClientVerifier::builder_with_provider(roots, provider);
        if !trust.revoked.is_empty() {
            builder = builder.with_crls(trust.revoked.lists.iter().cloned());
            if !trust.revoked.accept_expired {
                builder = builder.enforce_revocation_expiration();
            }
        }
        if !config.required {
            builder = builder.allow_unauthenticated();
        }
        let inner =
            builder.build().map_err(|error| ClientTrustError::Verifier(error.to_string()))?;
        Ok(ClientVerifier { inner, config: config.clone() })
    }

    /// Verifies the client certificate of a resumed session by the active settings and the time.
    ///
    /// # Errors
    /// As in a full handshake.
    pub fn recheck(
        &self,
        name: Option<&str>,
        chain: Option<&[CertificateDer<'_>]>,
        now: UnixTime,
    ) -> Result<(), Error> {
        match chain.and_then(<[_]>::split_first) {
            Some((own, others)) => self.inner.verify_client_cert(own, others, now).map(|_| ()),
            None if self.config.required
                && self.config.requests_certificate(name.map(str::as_bytes)) =>
            {
                Err(Error::NoCertificatesPresented)
            }
            None => Ok(()),
        }
    }

    fn requests_certificate(&self) -> bool {
        // The library asks once before it has read a ClientHello, to retain what it may need.
        handshake_observation::with_server_name(|name| {
            name.is_none_or(|name| self.config.requests_certificate(name.map(str::as_bytes)))
        })
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn offer_client_auth(&self) -> bool {
        self.requests_certificate()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.config.required && self.requests_certificate()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(own, others, now)?;
        handshake_observation::note_client_expiry(earliest_end(std::iter::once(own).chain(others)));
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// When the first certificate of a chain expires, in seconds since 1970.
pub(super) fn earliest_end<'c>(chain: impl Iterator<Item = &'c CertificateDer<'c>>) -> u64 {
    let end = |der: &CertificateDer<'_>| {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        u64::try_from(certificate.validity().not_after.timestamp()).ok()
    };
    // A certificate that cannot be parsed is not valid for any resumption.
    chain.map(|der| end(der).unwrap_or(0)).min().unwrap_or(0)
}
