//! What certificates of clients are judged by, read from its files: authorities and lists of revoked certificates.
//!
//! Files of authorities are read whole here, so that each trouble names its file.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use l7::tls::authorities::roots;
use l7::tls::clients::ClientTrust;
use l7::tls::revoked::RevocationLists;
use model::config::{ClientAuth, Revoked};

use super::files::{FileError, read};
use super::told::{day, moment};

/// What was read.
#[derive(Clone, Debug)]
pub(super) struct ClientFiles {
    /// Every file with what is in it: sessions that were begun under other bytes are not resumed.
    content: Vec<(PathBuf, Vec<u8>)>,
    revoked: RevocationLists,
}

impl ClientFiles {
    /// Reads them. What an operator should know goes to `warnings`.
    ///
    /// # Errors
    /// A file cannot be read or is no good.
    pub(super) fn read(
        client: &ClientAuth,
        now: SystemTime,
        warnings: &mut Vec<String>,
    ) -> Result<ClientFiles, FileError> {
        let mut content = vec![(client.ca.clone(), authorities(&client.ca)?)];
        let revoked = revoked(&client.revoked, now, warnings, |path, text| {
            content.push((path.to_owned(), text.to_vec()));
        })?;
        Ok(ClientFiles { content, revoked })
    }

    /// As the request plane takes them.
    pub(super) fn trust(&self) -> ClientTrust<'_> {
        let authorities = self.content.first().map_or(&[][..], |(_, text)| text);
        ClientTrust { authorities, revoked: &self.revoked }
    }

    /// The files whose content is another one than `before`.
    pub(super) fn changed(&self, before: Option<&ClientFiles>) -> Vec<String> {
        let before = before.map_or(&[][..], |before| &before.content);
        let other = self.content.iter().filter(|file| !before.contains(file));
        other.map(|(path, _)| path.display().to_string()).collect()
    }
}

/// Whether both are the same, byte by byte.
impl PartialEq for ClientFiles {
    fn eq(&self, other: &ClientFiles) -> bool {
        self.content == other.content
    }
}

/// Reads a file of authorities.
///
/// # Errors
/// It cannot be read, or there is none in it.
pub(super) fn authorities(path: &Path) -> Result<Vec<u8>, FileError> {
    let text = read(path)?;
    match roots(&text) {
        Ok(_) => Ok(text),
        Err(source) => Err(FileError::Authorities { path: path.to_owned(), source }),
    }
}

/// Reads lists of revoked certificates; each file's text is shown to `see`.
///
/// # Errors
/// A file cannot be read, or there is no list in it.
pub fn revoked(
    config: &Revoked,
    now: SystemTime,
    warnings: &mut Vec<String>,
    mut see: impl FnMut(&Path, &[u8]),
) -> Result<RevocationLists, FileError> {
    let mut lists = RevocationLists::new(config.accept_expired);
    for path in &config.files {
        let text = read(path)?;
        let until = lists
            .add(&text)
            .map_err(|source| FileError::Revoked { path: path.to_owned(), source })?;
        if let Some(until) = until.filter(|until| moment(*until) <= now) {
            let (file, day) = (path.display(), day(until));
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
