//! Files of names and hashed passwords, one `name:hash` a line, as `htpasswd` writes them.
//!
//! No error shows what a line holds, because a path may lead to another secret.

use std::collections::HashMap;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;
use thiserror::Error;

use crate::password_hash::{PasswordHash, PasswordHashError};

/// Bytes of a file. A line has about a hundred.
pub const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Users of a file.
pub const MAX_USERS: usize = 20_000;

/// Bytes of a name.
pub const MAX_NAME_BYTES: usize = 255;

/// Bytes of a password. The time of SHA-crypt grows with the square of its length.
pub const MAX_PASSWORD_BYTES: usize = 512;

/// The users of a file.
#[derive(Clone, Debug)]
pub struct PasswordFile {
    users: HashMap<String, usize>,
    hashes: Vec<PasswordHash>,
    decoy_key: DecoyKey,
}

/// The secret by which an unknown name gets the hash that it is checked against.
#[derive(Clone, Copy, Debug)]
pub struct DecoyKey {
    pub low: u64,
    pub high: u64,
}

/// Why a file of passwords or keys cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CredentialFileError {
    #[error("line {line} has no `:`; expected `name:hash`")]
    NoColon { line: usize },
    #[error(
        "line {line} has no usable name; expected 1 to {MAX_NAME_BYTES} bytes without control \
         characters"
    )]
    Name { line: usize },
    #[error("line {line} has the name of an earlier line")]
    NameTwice { line: usize },
    #[error("line {line}: {source}")]
    Hash {
        line: usize,
        #[source]
        source: PasswordHashError,
    },
    #[error("line {line} has no digest of a key; expected 64 hexadecimal digits of its SHA-256")]
    Digest { line: usize },
    #[error("line {line} has the digest of an earlier line")]
    DigestTwice { line: usize },
    #[error("it has more than {MAX_USERS} lines")]
    TooMany,
    #[error("it has no line with a name; expected `name:hash`")]
    Empty,
}

/// A line of a file of credentials.
#[derive(Clone, Copy, Debug)]
pub struct CredentialLine<'f> {
    /// The number of the line, from 1.
    pub line: usize,
    pub name: &'f str,
    pub secret: &'f str,
}

impl PasswordFile {
    /// # Errors
    /// The first line that cannot be used.
    pub fn parse(text: &str, decoy_key: DecoyKey) -> Result<PasswordFile, CredentialFileError> {
        let mut file = PasswordFile { users: HashMap::new(), hashes: Vec::new(), decoy_key };
        for entry in credential_lines(text) {
            let CredentialLine { line, name, secret } = entry?;
            let hash = PasswordHash::parse(secret)
                .map_err(|source| CredentialFileError::Hash { line, source })?;
            if file.users.insert(name.to_owned(), file.hashes.len()).is_some() {
                return Err(CredentialFileError::NameTwice { line });
            }
            file.hashes.push(hash);
        }
        match file.hashes.is_empty() {
            true => Err(CredentialFileError::Empty),
            false => Ok(file),
        }
    }

    /// The number of users.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether it has no users.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether this is the user's password. Takes milliseconds, for an unknown name too: that is checked against the hash
    /// of another user, always the same one, so that its time says nothing.
    pub fn check(&self, name: &str, password: &[u8]) -> bool {
        // Programs in C end a password at its first zero byte.
        if password.len() > MAX_PASSWORD_BYTES || password.contains(&0) {
            return false;
        }
        let known = self.users.get(name).copied();
        let at = known.unwrap_or_else(|| self.decoy(name));
        let matches = self.hashes.get(at).is_some_and(|hash| hash.matches(password));
        matches && known.is_some()
    }

    fn decoy(&self, name: &str) -> usize {
        let DecoyKey { low, high } = self.decoy_key;
        let mut hasher = SipHasher13::new_with_keys(low, high);
        hasher.write(name.as_bytes());
        (hasher.finish() % self.hashes.len().max(1) as u64) as usize
    }
}

/// The lines of a file that are neither empty nor a comment.
pub fn credential_lines(
    text: &str,
) -> impl Iterator<Item = Result<CredentialLine<'_>, CredentialFileError>> {
    let lines =
        text.lines().enumerate().map(|(at, line)| NumberedLine { line: at + 1, text: line });
    let written = lines.filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'));
    written.enumerate().map(|(at, NumberedLine { line, text })| {
        if at >= MAX_USERS {
            return Err(CredentialFileError::TooMany);
        }
        let pair = text.split_once(':').ok_or(CredentialFileError::NoColon { line })?;
        let name = pair.0;
        let is_usable = (1..=MAX_NAME_BYTES).contains(&name.len())
            && name.trim() == name
            && !name.contains(char::is_control);
        if !is_usable {
            return Err(CredentialFileError::Name { line });
        }
        // Further fields behind another `:` are comments, as Apache and nginx have it.
        let secret = pair.1.split(':').next().unwrap_or_default().trim();
        Ok(CredentialLine { line, name, secret })
    })
}

struct NumberedLine<'f> {
    line: usize,
    text: &'f str,
}

#[cfg(test)]
#[path = "password_file/tests.rs"]
mod tests;
