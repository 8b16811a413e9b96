//! A certificate with its chain and key, checked before use, and its facts for reports.
//!
//! The owner reads the files. Keys are never printed.

use std::fmt;
use std::sync::Arc;

use files::pem_fault::PemFault;
use rustls::SignatureAlgorithm;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::key_purpose::KeyPurposes;
use super::policy;

/// Most certificates in one chain.
/// Public chains have two to four certificates.
const MAX_CHAIN: usize = 16;
/// What the cryptographic library signs with.
const KEY_KINDS: &str = "RSA of 2,048 to 8,192 bits, ECDSA with P-256, P-384 or P-521, or Ed25519";

#[derive(Clone)]
pub struct TlsIdentity {
    /// Facts for reports.
    pub facts: CertificateFacts,
    pub(super) key: Arc<CertifiedKey>,
}

/// Facts about a certificate, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// The names that the certificate is valid for, in lower case; `*.` starts a wildcard.
    pub names: Vec<String>,
    /// Start of validity, in seconds since 1970.
    pub not_before: i64,
    /// End of validity, in seconds since 1970.
    pub not_after: i64,
    /// The type of the key: `ecdsa`, `rsa`, `ed25519`.
    pub kind: &'static str,
    /// Whether there is an OCSP response.
    pub stapled: bool,
    /// What the key may be used for.
    pub purposes: KeyPurposes,
}

/// Why a certificate and a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("cannot be read as PEM: {0}")]
    Pem(PemFault),
    #[error("there is no certificate in it: {0}")]
    NoCertificate(PemFault),
    /// The chain is longer than any client would verify.
    #[error("there are more than {most} certificates in it")]
    TooMany {
        /// The limit.
        most: usize,
    },
    #[error("there is no private key, neither in it nor beside it")]
    NoKey,
    /// There is one that is not usable as it is.
    #[error("there is no usable private key: {0}")]
    UnusableKey(PemFault),
    #[error("a certificate in it cannot be read: its content is damaged")]
    Certificate,
    /// The key is not usable, or belongs to another certificate.
    #[error("{0}")]
    Key(String),
}

impl TlsIdentity {
    /// Reads PEM: the chain with the leaf certificate first, and the key, which may be in either text.
    ///
    /// # Errors
    /// See `IdentityError`.
    pub fn read(
        chain: &[u8],
        key: Option<&[u8]>,
        ocsp: Option<Vec<u8>>,
    ) -> Result<TlsIdentity, IdentityError> {
        let chain_der = certificates_up_to(chain, MAX_CHAIN)?;
        let own =
            chain_der.first().ok_or_else(|| IdentityError::NoCertificate(PemFault::find(chain)))?;
        let key_text = key.unwrap_or(chain);
        let key_der: PrivateKeyDer<'static> =
            PrivateKeyDer::from_pem_slice(key_text).map_err(|error| {
                match (error, PemFault::find(key_text)) {
                    (pem::Error::NoItemsFound, PemFault::Absent) => IdentityError::NoKey,
                    (_, fault) => IdentityError::UnusableKey(fault),
                }
            })?;
        let mut facts = facts(own)?;
        let provider = policy::provider(model::config::TlsPolicy::Intermediate);
        let mut key = CertifiedKey::from_der(chain_der, key_der, &provider)
            .map_err(|error| IdentityError::Key(explain(&error)))?;
        facts.kind = match key.key.algorithm() {
            SignatureAlgorithm::RSA => "rsa",
            SignatureAlgorithm::ECDSA => "ecdsa",
            SignatureAlgorithm::ED25519 => "ed25519",
            _ => "other",
        };
        facts.stapled = ocsp.is_some();
        key.ocsp = ocsp;
        Ok(TlsIdentity { facts, key: Arc::new(key) })
    }
}

impl TlsIdentity {
    /// A self-made certificate for an ACME challenge (RFC 8737), in DER. Its key is known to match. The library's
    /// comparison is skipped, since it cannot read certificates with this critical extension.
    ///
    /// # Errors
    /// As `read`.
    pub fn from_challenge(
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<TlsIdentity, IdentityError> {
        let facts = facts(&certificate)?;
        let provider = policy::provider(model::config::TlsPolicy::Intermediate);
        let key = provider.key_provider.load_private_key(key);
        let key = key.map_err(|error| IdentityError::Key(explain(&error)))?;
        Ok(TlsIdentity { facts, key: Arc::new(CertifiedKey::new(vec![certificate], key)) })
    }

    /// The chain with its key, for a listener that does not belong to a service.
    pub fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.key)
    }

    /// Whether both have the same certificate and the same OCSP response.
    pub fn is_same(&self, other: &TlsIdentity) -> bool {
        self.key.cert == other.key.cert && self.key.ocsp == other.key.ocsp
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Identity({:?})", self.facts)
    }
}

/// The certificates in a PEM text, in order, at most `most`.
pub(super) fn certificates_up_to(
    text: &[u8],
    most: usize,
) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let mut chain = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(text) {
        chain.push(certificate.map_err(|_| IdentityError::Pem(PemFault::find(text)))?);
        if chain.len() > most {
            return Err(IdentityError::TooMany { most });
        }
    }
    Ok(chain)
}

fn explain(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => "the key is not that of the certificate".to_owned(),
        rustls::Error::General(_) => format!("the key cannot be used: expected {KEY_KINDS}"),
        _ => "certificate and key cannot be used together: one of them is damaged".to_owned(),
    }
}

fn facts(der: &CertificateDer<'_>) -> Result<CertificateFacts, IdentityError> {
    let (_, certificate) =
        X509Certificate::from_der(der).map_err(|_| IdentityError::Certificate)?;
    Ok(CertificateFacts {
        names: names(&certificate),
        not_before: certificate.validity().not_before.timestamp(),
        not_after: certificate.validity().not_after.timestamp(),
        kind: "other",
        stapled: false,
        purposes: KeyPurposes::from_certificate(&certificate),
    })
}

/// The DNS names. Without any: the common name, as older tools create certificates.
fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for extension in certificate.extensions() {
        if let ParsedExtension::SubjectAlternativeName(alternative) = extension.parsed_extension() {
            names.extend(alternative.general_names.iter().filter_map(|name| match name {
                GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
                _ => None,
            }));
        }
    }
    if names.is_empty() {
        let common = certificate.subject().iter_common_name().filter_map(|it| it.as_str().ok());
        names.extend(common.map(str::to_ascii_lowercase));
    }
    names
}
