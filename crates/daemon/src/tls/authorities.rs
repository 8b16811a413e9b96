//! Who may have signed servers' certificates, read from a file or taken from this machine. It judges no certificate.

use std::path::Path;

use l7::tls::trust::Trust;

use super::files::FileError;
use super::trusted::authorities;

/// Authorities that were read.
#[derive(Debug)]
pub enum Authorities {
    /// A PEM file's text.
    Text(Vec<u8>),
    /// Those of this machine, as DER.
    System(Vec<Vec<u8>>),
    /// None are needed.
    Anybody,
}

impl Authorities {
    /// What certificates are checked against: this file, or this machine's list; nothing where they are not checked.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(verify: bool, ca: Option<&Path>) -> Result<Authorities, FileError> {
        Ok(match (verify, ca) {
            (false, _) => Authorities::Anybody,
            (true, Some(path)) => Authorities::Text(authorities(path)?),
            (true, None) => {
                let found = rustls_native_certs::load_native_certs();
                Authorities::System(found.certs.iter().map(|der| der.to_vec()).collect())
            }
        })
    }

    /// As the request plane takes them.
    pub fn trust(&self) -> Trust<'_> {
        match self {
            Authorities::Text(text) => Trust::Text(text),
            Authorities::System(all) => Trust::System(all),
            Authorities::Anybody => Trust::Anybody,
        }
    }
}
