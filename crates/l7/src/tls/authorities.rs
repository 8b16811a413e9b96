//! Parses the certificates of authorities from PEM.

use files::pem_fault::PemFault;
use rustls::RootCertStore;

use super::identity::{IdentityError, certificates_up_to};

/// Most authorities in one file.
/// A system's set has about 150.
const AUTHORITIES: usize = 4_096;

/// The authorities in a PEM text.
///
/// # Errors
/// There are none, too many, or one is malformed.
pub fn roots(text: &[u8]) -> Result<RootCertStore, IdentityError> {
    let mut roots = RootCertStore::empty();
    let certificates = certificates_up_to(text, AUTHORITIES)?;
    if certificates.is_empty() {
        return Err(IdentityError::NoCertificate(PemFault::find(text)));
    }
    for certificate in certificates {
        roots.add(certificate).map_err(|_| IdentityError::Certificate)?;
    }
    Ok(roots)
}
