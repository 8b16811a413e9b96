//! The checked configuration of authentication.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::key_set_url::KeySetUrl;

/// How clients prove who they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AuthConfig {
    pub name: String,
    pub kind: AuthKind,
    /// The file of passwords, of digests of keys, or of keys of signatures.
    pub file: PathBuf,
    /// What browsers show with the question for a password.
    pub realm: String,
    /// The field that has the key or the token.
    pub header: Option<String>,
    /// The parameter of the query that has the key.
    pub query: Option<String>,
    /// The field with the user's name for servers.
    pub user_field: Option<String>,
    /// Whether servers get the password, key or token too.
    pub keep_credentials: bool,
    /// How long a proven password is not checked again; `None`: each is.
    pub cache: Option<Duration>,
    /// The cookie that has the token.
    pub cookie: Option<String>,
    /// Where the keys of signatures are fetched, in the place of the file.
    pub jwks_url: Option<KeySetUrl>,
    /// Who may have signed the certificate of that server; `None`: whom the machine trusts.
    pub ca: Option<PathBuf>,
    /// How often keys are fetched again.
    pub refresh: Duration,
    /// How long keys count that cannot be fetched again.
    pub keep: Duration,
    /// The accepted algorithms of signatures, by their names.
    pub algorithms: Vec<&'static str>,
    /// Who may have issued a token.
    pub issuer: Vec<String>,
    /// Whom a token may be for.
    pub audience: Vec<String>,
    /// How far the issuer's clock may differ.
    pub leeway: Duration,
    /// Claims that a token must have, `name` or `name: value`.
    pub required_claims: Vec<String>,
    /// Fields with claims for servers.
    pub claim_fields: Vec<ClaimField>,
    /// The pool whose servers are asked.
    pub pool: Option<String>,
    /// The target of a question.
    pub path: String,
    /// The Host of a question; `None`: the one of the client's request.
    pub host: Option<String>,
    /// How long a question may take.
    pub timeout: Duration,
    /// Fields of the request that a question has too.
    pub send: Vec<String>,
    /// Fields of the answer for servers.
    pub take: Vec<String>,
    /// What happens without an answer.
    pub on_failure: AuthFailureAction,
    /// Questions under way per worker.
    pub at_once: u32,
}

/// What happens to a request for which no usable answer came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthFailureAction {
    /// It is refused with 503.
    #[default]
    Refuse,
    /// It passes.
    Allow,
}

/// A field that has a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClaimField {
    pub field: String,
    /// The name of the claim, or its place if it begins with `/`.
    pub claim: String,
}

impl AuthConfig {
    /// Fields of requests that only authentication may write.
    pub fn written_fields(&self) -> impl Iterator<Item = &str> {
        let claims = self.claim_fields.iter().map(|it| &it.field);
        // A client's own credentials are replaced when the answer is there: the question has them.
        let taken = self.take.iter().filter(|name| !name.eq_ignore_ascii_case("authorization"));
        self.user_field.iter().chain(claims).chain(taken).map(String::as_str)
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
    /// A signed token (RFC 7519).
    Jwt,
    /// A server of a pool is asked.
    Request,
}

impl AuthKind {
    /// As written in the file, the status and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            AuthKind::Basic => "basic",
            AuthKind::ApiKey => "api-key",
            AuthKind::Jwt => "jwt",
            AuthKind::Request => "request",
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
