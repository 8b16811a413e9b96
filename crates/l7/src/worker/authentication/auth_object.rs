//! An object `[auth.NAME]` with the content of its file, ready for use. It asks nobody and waits for nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use credentials::api_key_file::ApiKeyFile;
use credentials::password_file::{CredentialFileError, DecoyKey, MAX_FILE_BYTES, PasswordFile};
use model::config::{AuthConfig, AuthKind};
use thiserror::Error;

use super::proven_passwords::ProvenPasswords;
use crate::rt::random;

/// All objects of a configuration, by name.
#[derive(Debug, Default)]
pub struct AuthObjects {
    pub objects: BTreeMap<String, Arc<AuthObject>>,
}

/// An object, ready for use.
#[derive(Debug)]
pub struct AuthObject {
    pub config: Arc<AuthConfig>,
    pub method: AuthMethod,
}

/// What credentials are checked against.
#[derive(Debug)]
pub enum AuthMethod {
    Passwords(Box<PasswordUsers>),
    ApiKeys(ApiKeyFile),
}

/// The users of a file of passwords.
#[derive(Debug)]
pub struct PasswordUsers {
    /// Shared with checks that are under way when the file changes.
    pub file: Arc<PasswordFile>,
    /// `None`: each password is hashed.
    pub proven: Option<ProvenPasswords>,
}

/// Why the content of a file cannot be used.
#[derive(Debug, Error)]
pub enum AuthObjectError {
    #[error("it is no text in UTF-8")]
    NoText,
    #[error(transparent)]
    Credentials(#[from] CredentialFileError),
}

/// Bytes of a file that an object names.
pub const MAX_AUTH_FILE_BYTES: u64 = MAX_FILE_BYTES;

impl AuthObject {
    /// The object with this content of its file.
    ///
    /// # Errors
    /// The content cannot be used.
    pub fn new(config: Arc<AuthConfig>, content: &[u8]) -> Result<AuthObject, AuthObjectError> {
        let text = std::str::from_utf8(content).map_err(|_| AuthObjectError::NoText)?;
        let method = match config.kind {
            AuthKind::Basic => {
                let decoy_key = DecoyKey { low: random::number(), high: random::number() };
                AuthMethod::Passwords(Box::new(PasswordUsers {
                    file: Arc::new(PasswordFile::parse(text, decoy_key)?),
                    proven: config.cache.map(ProvenPasswords::new),
                }))
            }
            AuthKind::ApiKey => AuthMethod::ApiKeys(ApiKeyFile::parse(text)?),
        };
        Ok(AuthObject { config, method })
    }

    /// The field `WWW-Authenticate` of a refusal as a line (RFC 9110 §11.6.1); empty: none is defined for the kind.
    pub fn challenge(&self) -> Vec<u8> {
        match self.config.kind {
            AuthKind::Basic => {
                let mut line = b"WWW-Authenticate: Basic realm=\"".to_vec();
                for byte in self.config.realm.bytes() {
                    // A quoted string (RFC 9110 §5.6.4).
                    if matches!(byte, b'"' | b'\\') {
                        line.push(b'\\');
                    }
                    line.push(byte);
                }
                line.extend_from_slice(b"\", charset=\"UTF-8\"\r\n");
                line
            }
            AuthKind::ApiKey => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(keys: &str, content: &[u8]) -> Result<AuthObject, AuthObjectError> {
        let text = format!(
            "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"p\"\nauth = \"a\"\n\
             [pool.p]\nservers = [\"127.0.0.1:81\"]\n[auth.a]\nfile = \"/a\"\n{keys}"
        );
        let config = model::config::load(&text, "f").unwrap_or_else(|error| panic!("{error}"));
        AuthObject::new(config.config.auths["a"].clone(), content)
    }

    #[test]
    fn a_realm_is_quoted() {
        let file = b"u:$apr1$x$16j9.5e7KiXmuYFAYpPJM/";
        let line = |realm: &str| {
            let made = object(&format!("kind = \"basic\"\n{realm}"), file).unwrap();
            String::from_utf8(made.challenge()).unwrap()
        };
        let field = |realm: &str| {
            format!("WWW-Authenticate: Basic realm=\"{realm}\", charset=\"UTF-8\"\r\n")
        };
        assert_eq!(line(""), field("a"));
        assert_eq!(line("realm = 'He said \"no\\'"), field("He said \\\"no\\\\"));
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        assert!(matches!(object("kind = \"basic\"", b"\xff"), Err(AuthObjectError::NoText)));
        for kind in ["basic", "api-key"] {
            let made = object(&format!("kind = \"{kind}\""), b"u:x");
            assert!(matches!(made, Err(AuthObjectError::Credentials(_))), "{kind}");
        }
    }
}
