//! Verifies the daemon's certificate: by its authority, or by its fingerprint. A refused certificate is remembered for
//! the error message. It opens no connection.

use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The prefix of a fingerprint.
const BEGIN: &str = "sha256:";

/// Why no certificate can be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifierError {
    #[error(
        "this machine trusts nobody: install ca-certificates, or use --ca FILE or --pin FINGERPRINT"
    )]
    NoAuthorities,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

#[derive(Debug)]
pub(super) struct DaemonCertVerifier {
    policy: TrustPolicy,
    provider: Arc<CryptoProvider>,
    rejected: Mutex<Option<RejectedCertificate>>,
}

/// A certificate that was refused.
#[derive(Debug)]
pub(super) struct RejectedCertificate {
    pub(super) why: String,
    pub(super) fingerprint: String,
}

#[derive(Debug)]
enum TrustPolicy {
    Signed(Arc<WebPkiServerVerifier>),
    Pinned([u8; 32]),
}

impl DaemonCertVerifier {
    /// Verifies by certificate authority.
    pub(super) fn with_authorities(
        authorities: Vec<CertificateDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<DaemonCertVerifier, VerifierError> {
        let mut roots = RootCertStore::empty();
        // Ignored: a machine's list may hold an old certificate or two that cannot be parsed, and the others count.
        let (good, _) = roots.add_parsable_certificates(authorities);
        if good == 0 {
            return Err(VerifierError::NoAuthorities);
        }
        let provider = Arc::clone(provider);
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let verifier = builder.build().map_err(|error| VerifierError::Tls(error.to_string()))?;
        Ok(DaemonCertVerifier {
            policy: TrustPolicy::Signed(verifier),
            provider,
            rejected: Mutex::default(),
        })
    }

    /// Verifies by fingerprint, whoever signed the certificate.
    pub(super) fn with_pin(print: [u8; 32], provider: &Arc<CryptoProvider>) -> DaemonCertVerifier {
        let provider = Arc::clone(provider);
        DaemonCertVerifier {
            policy: TrustPolicy::Pinned(print),
            provider,
            rejected: Mutex::default(),
        }
    }

    /// The last certificate that was refused.
    pub(super) fn take_rejected(&self) -> Option<RejectedCertificate> {
        self.rejected.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ServerCertVerifier for DaemonCertVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let print = digest(&SHA256, certificate);
        let verified = match &self.policy {
            TrustPolicy::Signed(by) => by.verify_server_cert(certificate, chain, name, ocsp, now),
            TrustPolicy::Pinned(wanted) => match verify_slices_are_equal(wanted, print.as_ref()) {
                Ok(()) => Ok(ServerCertVerified::assertion()),
                Err(_) => {
                    let error = CertificateError::ApplicationVerificationFailure;
                    Err(Error::InvalidCertificate(error))
                }
            },
        };
        if let Err(error) = &verified {
            let why = match &self.policy {
                TrustPolicy::Signed(_) => error.to_string(),
                TrustPolicy::Pinned(_) => "its certificate has another fingerprint".to_owned(),
            };
            let hex: String = print.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            let mut refused = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
            *refused = Some(RejectedCertificate { why, fingerprint: format!("{BEGIN}{hex}") });
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, schemes)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, schemes)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A fingerprint from its text; colons between digits, as openssl writes them, do not matter.
pub(super) fn parse_pin(text: &str) -> Option<[u8; 32]> {
    let digits: String = text.strip_prefix(BEGIN)?.chars().filter(|c| *c != ':').collect();
    let mut print = [0; 32];
    if digits.len() != 2 * print.len() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in print.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(print)
}
