//! The files of certificates: which there are for the configuration, what is in them, whether they changed.
//!
//! It checks permissions and sizes; whether a certificate is any good, `l7::tls` decides.

use std::io;
use std::path::{Path, PathBuf};

use files::regular_file;
use files::secret::{self, SecretError, SecretProtection};
use l7::tls::identity::{IdentityError, TlsIdentity};
use l7::tls::key_purpose::CertificateUse;
use l7::tls::revocation::RevocationError;

/// Bytes of one file; a file of authorities may hold all of a system's.
/// The set of Mozilla's authorities has about 200 KiB.
const BYTES: u64 = 4 << 20;

/// Files of one directory.
const FILES: usize = 10_000;

/// A certificate that was read.
#[derive(Debug)]
pub struct CertificatePair {
    /// The certificate with its key.
    pub identity: TlsIdentity,
}

/// Why a file was of no use.
#[derive(Debug, thiserror::Error)]
pub enum CertFileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Others can use its key.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// It holds no certificate with its key.
    #[error("{}: {source}", path.display())]
    Pair {
        /// The file of the certificate.
        path: PathBuf,
        #[source]
        source: IdentityError,
    },
    /// It holds no authorities.
    #[error("{}: {source}; certificates of authorities belong there", path.display())]
    Authorities {
        path: PathBuf,
        #[source]
        source: IdentityError,
    },
    /// It holds no list of revoked certificates.
    #[error("{}: {source}", path.display())]
    Revoked {
        path: PathBuf,
        #[source]
        source: RevocationError,
    },
    /// A directory without a certificate.
    #[error("there is no certificate in {}", .0.display())]
    Empty(PathBuf),
    /// A directory with more files than are looked at.
    #[error("there are more than {FILES} certificates in {}", .0.display())]
    TooMany(PathBuf),
}

/// The files of certificates that these paths stand for: directories are looked into.
///
/// # Errors
/// A directory cannot be read, or holds none.
pub fn expand_paths(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CertFileError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let failed = |source| CertFileError::Read { path: path.clone(), source };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            let ending = file.extension().and_then(|ending| ending.to_str());
            if matches!(ending, Some("pem" | "crt")) && holds_certificate(&file) {
                found.push(file);
            }
            if found.len() > FILES {
                return Err(CertFileError::TooMany(path.clone()));
            }
        }
        if found.is_empty() {
            return Err(CertFileError::Empty(path.clone()));
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}

/// A directory may hold keys and parameters beside certificates. An unreadable file counts as a certificate, so that it
/// is reported.
fn holds_certificate(file: &Path) -> bool {
    read_file(file)
        .map_or(true, |text| text.windows(CERTIFICATE.len()).any(|window| window == CERTIFICATE))
}

const CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Reads a certificate's file with its key and its OCSP response.
///
/// # Errors
/// See `CertFileError`.
pub fn read_pair(path: &Path) -> Result<CertificatePair, CertFileError> {
    let failed = |source| CertFileError::Pair { path: path.to_owned(), source };
    let mut chain = read_file(path)?;
    let own = TlsIdentity::read(&chain, None, None);
    let has_key = !matches!(own, Err(IdentityError::NoKey));
    let key_path = if has_key { Some(path.to_owned()) } else { key_beside(path) };
    // The file with the key is read as a secret. For a symbolic link, its target is checked.
    let key = match &key_path {
        Some(beside) if !has_key => {
            Some(secret::read(beside, BYTES, SecretProtection::NotReadable)?)
        }
        _ => None,
    };
    if has_key {
        chain = secret::read(path, BYTES, SecretProtection::NotReadable)?;
    }
    let ocsp = path.with_extension("ocsp");
    let ocsp = if ocsp.exists() { Some(read_file(&ocsp)?) } else { None };
    let identity = TlsIdentity::read(&chain, key.as_deref(), ocsp).map_err(failed)?;
    Ok(CertificatePair { identity })
}

/// Why others will refuse a certificate when it is used so, with its file.
pub fn chain_warning(path: &Path, identity: &TlsIdentity, used: CertificateUse) -> Option<String> {
    let why = identity.facts.purposes.misuse(used)?;
    Some(format!("{}: {why}", path.display()))
}

/// Reads a whole file.
///
/// # Errors
/// It cannot be read, is no regular file, or is too large.
pub fn read_file(path: &Path) -> Result<Vec<u8>, CertFileError> {
    regular_file::read(path, BYTES)
        .map_err(|source| CertFileError::Read { path: path.to_owned(), source })
}

fn key_beside(path: &Path) -> Option<PathBuf> {
    let mut beside = vec![path.with_extension("key")];
    if path.file_name().is_some_and(|name| name == "fullchain.pem") {
        beside.push(path.with_file_name("privkey.pem"));
    }
    beside.into_iter().find(|file| file.exists())
}

/// The private key file of a certificate file, from its name.
pub fn key_file_for(path: &Path) -> Option<PathBuf> {
    let own = TlsIdentity::read(&read_file(path).ok()?, None, None);
    if matches!(own, Err(IdentityError::NoKey)) { key_beside(path) } else { Some(path.to_owned()) }
}
