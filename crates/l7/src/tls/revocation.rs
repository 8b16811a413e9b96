//! Parses certificate revocation lists (RFC 5280 §5) from PEM or DER. The library looks certificates up in them.

use files::pem_fault::PemFault;
use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

/// Most lists in one file.
/// One list for each authority of a large set.
const LISTS: usize = 1_024;

/// Parsed revocation lists.
#[derive(Clone, Debug, Default)]
pub struct RevocationLists {
    pub(super) lists: Vec<CertificateRevocationListDer<'static>>,
    /// A list stays valid when its next update is overdue.
    pub(super) accept_expired: bool,
}

/// Why a file of revocation lists cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RevocationError {
    #[error("cannot be read as PEM: {0}")]
    Pem(PemFault),
    #[error("there is no certificate revocation list in it: expected PEM with `X509 CRL`, or DER")]
    NoList,
    /// The file has too many lists.
    #[error("there are more than {LISTS} certificate revocation lists in it")]
    TooMany,
    #[error("a certificate revocation list cannot be read: its content is damaged")]
    List,
}

impl RevocationLists {
    pub fn new(accept_expired: bool) -> RevocationLists {
        RevocationLists { lists: Vec::new(), accept_expired }
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Adds the lists of a file. Returns when the first of them is due for an update, in seconds since 1970.
    ///
    /// # Errors
    /// See `RevocationError`.
    pub fn add(&mut self, text: &[u8]) -> Result<Option<i64>, RevocationError> {
        let found = read(text)?;
        let mut until = None;
        for list in &found {
            let (_, parsed) =
                CertificateRevocationList::from_der(list).map_err(|_| RevocationError::List)?;
            let next = parsed.next_update().map(|next| next.timestamp());
            until = until.into_iter().chain(next).min();
        }
        self.lists.extend(found);
        Ok(until)
    }
}

fn read(text: &[u8]) -> Result<Vec<CertificateRevocationListDer<'static>>, RevocationError> {
    // A DER sequence starts with this byte; PEM is text.
    if text.first() == Some(&0x30) {
        return Ok(vec![text.to_vec().into()]);
    }
    let mut lists = Vec::new();
    for list in CertificateRevocationListDer::pem_slice_iter(text) {
        lists.push(list.map_err(|_| RevocationError::Pem(PemFault::find(text)))?);
        if lists.len() > LISTS {
            return Err(RevocationError::TooMany);
        }
    }
    if lists.is_empty() { Err(RevocationError::NoList) } else { Ok(lists) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_list_is_reported_as_that() {
        let mut lists = RevocationLists::new(false);
        for (text, expected) in [
            (&b""[..], "no certificate revocation list"),
            (b"nothing of the kind", "no certificate revocation list"),
            (b"\x30\x03\x02\x01\x01", "cannot be read"),
            (b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "cannot be read"),
        ] {
            let message = lists.add(text).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains(expected), "{message}");
        }
        assert!(lists.is_empty());
    }
}
