//! Trust for client certificates, read from its files: authorities and lists of revoked certificates.
//!
//! Files of authorities are read whole here, so that each error names its file.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use l7::tls::authorities::roots;
use l7::tls::client_auth::ClientTrust;
use l7::tls::revocation::RevocationLists;
use model::config::{ClientAuth, RevocationConfig};

use super::cert_files::{CertFileError, read_file};
use crate::state::cert_status::{format_date, from_unix_seconds};

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TrustFileContent {
    path: PathBuf,
    text: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(super) struct ClientTrustFiles {
    /// Every file with its content: sessions that began under other content are not resumed.
    content: Vec<TrustFileContent>,
    revoked: RevocationLists,
}

impl ClientTrustFiles {
    /// Reads the files. Warnings for the operator go to `warnings`.
    ///
    /// # Errors
    /// A file cannot be read or is no good.
    pub(super) fn read(
        client: &ClientAuth,
        now: SystemTime,
        warnings: &mut Vec<String>,
    ) -> Result<ClientTrustFiles, CertFileError> {
        let mut content =
            vec![TrustFileContent { path: client.ca.clone(), text: read_authorities(&client.ca)? }];
        let revoked = read_revocation_lists(&client.revoked, now, warnings, |path, text| {
            content.push(TrustFileContent { path: path.to_owned(), text: text.to_vec() });
        })?;
        Ok(ClientTrustFiles { content, revoked })
    }

    /// As the request plane takes them.
    pub(super) fn as_client_trust(&self) -> ClientTrust<'_> {
        let authorities = self.content.first().map_or(&[][..], |file| &file.text);
        ClientTrust { authorities, revoked: &self.revoked }
    }

    /// The files whose content is another one than `before`.
    pub(super) fn changed_files(&self, before: Option<&ClientTrustFiles>) -> Vec<String> {
        let before = before.map_or(&[][..], |before| &before.content);
        let other = self.content.iter().filter(|file| !before.contains(file));
        other.map(|file| file.path.display().to_string()).collect()
    }
}

/// Whether both are the same, byte by byte.
impl PartialEq for ClientTrustFiles {
    fn eq(&self, other: &ClientTrustFiles) -> bool {
        self.content == other.content
    }
}

/// Reads a file of authorities.
///
/// # Errors
/// It cannot be read, or there is none in it.
pub(super) fn read_authorities(path: &Path) -> Result<Vec<u8>, CertFileError> {
    let text = read_file(path)?;
    match roots(&text) {
        Ok(_) => Ok(text),
        Err(source) => Err(CertFileError::Authorities { path: path.to_owned(), source }),
    }
}

/// Reads lists of revoked certificates; each file's text is shown to `see`.
///
/// # Errors
/// A file cannot be read, or there is no list in it.
pub fn read_revocation_lists(
    config: &RevocationConfig,
    now: SystemTime,
    warnings: &mut Vec<String>,
    mut see: impl FnMut(&Path, &[u8]),
) -> Result<RevocationLists, CertFileError> {
    let mut lists = RevocationLists::new(config.accept_expired);
    for path in &config.files {
        let text = read_file(path)?;
        let until = lists
            .add(&text)
            .map_err(|source| CertFileError::Revoked { path: path.to_owned(), source })?;
        if let Some(until) = until.filter(|until| from_unix_seconds(*until) <= now) {
            let file = path.display();
            let day = format_date(until);
            let what = if config.accept_expired {
                "it still counts"
            } else {
                "certificates that it is needed for are refused"
            };
            warnings.push(format!("{file}: the next list was due on {day}; {what}"));
        }
        see(path, &text);
    }
    Ok(lists)
}
