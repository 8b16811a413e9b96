//! An object `[auth.NAME]` with the content of its file, ready for use. It asks nobody and waits for nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use credentials::api_key_file::ApiKeyFile;
use credentials::jwt::key_set::KeySetError;
use credentials::jwt::refusal::JwtRefusal;
use credentials::password_file::{CredentialFileError, DecoyKey, MAX_FILE_BYTES, PasswordFile};
use model::config::{AuthConfig, AuthKind};
use thiserror::Error;

use super::proven_passwords::ProvenPasswords;
use super::question_slots::QuestionSlots;
use super::remembered_answers::RememberedAnswers;
use super::token_users::TokenUsers;
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
    Tokens(Box<TokenUsers>),
    /// Servers are asked.
    Question(Box<AskedService>),
}

/// A service that is asked.
#[derive(Debug)]
pub struct AskedService {
    pub slots: QuestionSlots,
    /// `None`: each request is asked for.
    pub remembered: Option<RememberedAnswers>,
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
    Keys(#[from] KeySetError),
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
            AuthKind::Jwt => AuthMethod::Tokens(Box::new(TokenUsers::new(&config, content)?)),
            AuthKind::Request => AuthMethod::Question(Box::new(AskedService::new(&config))),
        };
        Ok(AuthObject { config, method })
    }

    /// The object, if it needs no file.
    pub fn without_file(config: &Arc<AuthConfig>) -> Option<AuthObject> {
        matches!(config.kind, AuthKind::Request).then(|| AuthObject {
            config: Arc::clone(config),
            method: AuthMethod::Question(Box::new(AskedService::new(config))),
        })
    }

    /// The object without keys of signatures, which are still to be fetched: nobody may come in.
    pub fn without_keys(config: Arc<AuthConfig>) -> AuthObject {
        let method = AuthMethod::Tokens(Box::new(TokenUsers::without_keys(&config)));
        AuthObject { config, method }
    }

    /// Whether a token named a key that is not there, since this was asked last.
    pub fn take_missed_key(&self) -> bool {
        matches!(&self.method, AuthMethod::Tokens(users) if users.take_missed_key())
    }

    /// The field `WWW-Authenticate` of a refusal as a line (RFC 9110 §11.6.1); empty: none is defined for the kind.
    /// `reason`: what is wrong with a token.
    pub fn challenge(&self, reason: Option<JwtRefusal>) -> Vec<u8> {
        let realm = quote(&self.config.realm);
        let line = match self.config.kind {
            AuthKind::Basic => format!("Basic realm={realm}, charset=\"UTF-8\""),
            AuthKind::ApiKey | AuthKind::Request => return Vec::new(),
            // Who shows nothing learns no more than the scheme (RFC 6750 §3.1).
            AuthKind::Jwt => match reason.filter(|reason| *reason != JwtRefusal::Absent) {
                None => format!("Bearer realm={realm}"),
                Some(reason) => format!(
                    "Bearer realm={realm}, error=\"invalid_token\", error_description=\"{reason}\""
                ),
            },
        };
        format!("WWW-Authenticate: {line}\r\n").into_bytes()
    }

    /// The line with the user's name for servers.
    pub fn user_line(&self, name: &str) -> Arc<[u8]> {
        let field = self.config.user_field.as_ref();
        field.map(|field| format!("{field}: {name}\r\n").into_bytes()).unwrap_or_default().into()
    }
}

impl AskedService {
    fn new(config: &AuthConfig) -> AskedService {
        AskedService {
            slots: QuestionSlots::new(config.at_once),
            remembered: config.cache.map(|_| RememberedAnswers::new()),
        }
    }
}

/// A quoted string (RFC 9110 §5.6.4).
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
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
            String::from_utf8(made.challenge(None)).unwrap()
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
