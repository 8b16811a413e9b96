//! The checked configuration of authentication.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

/// How clients prove who they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AuthConfig {
    pub name: String,
    pub kind: AuthKind,
    /// The file of passwords or digests of keys.
    pub file: PathBuf,
    /// What browsers show with the question for a password.
    pub realm: String,
    /// The field that has the key.
    pub header: Option<String>,
    /// The parameter of the query that has the key.
    pub query: Option<String>,
    /// The field with the user's name for servers.
    pub user_field: Option<String>,
    /// Whether servers get the password, key or token too.
    pub keep_credentials: bool,
    /// How long a proven password is not checked again; `None`: each is.
    pub cache: Option<Duration>,
}

impl AuthConfig {
    /// Fields of requests that only authentication may write.
    pub fn written_fields(&self) -> impl Iterator<Item = &str> {
        self.user_field.iter().map(String::as_str)
    }
}

/// What is proven, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthKind {
    /// A name and a password (RFC 7617).
    Basic,
    /// A key in a field or a parameter.
    ApiKey,
}

impl AuthKind {
    /// As written in the file, the status and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            AuthKind::Basic => "basic",
            AuthKind::ApiKey => "api-key",
        }
    }
}

/// What a rule says of authentication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleAuth {
    /// As its service says.
    #[default]
    Service,
    /// Nobody is asked for credentials.
    Off,
    /// This object of the configuration.
    Object(String),
}

impl RuleAuth {
    /// The object that a rule's requests need, where the service names `service`.
    pub fn object<'a>(&'a self, service: Option<&'a str>) -> Option<&'a str> {
        match self {
            RuleAuth::Service => service,
            RuleAuth::Off => None,
            RuleAuth::Object(name) => Some(name),
        }
    }
}
