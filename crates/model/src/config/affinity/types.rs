//! The checked configuration of session affinity of a proxied service. `affinity` implements the table of clients.

use serde::Serialize;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AffinityConfig {
    /// How clients are recognised.
    pub by: AffinityKey,
    /// How long a client keeps its server after its last request; `None`: as long as its browser keeps our cookie.
    pub time: Option<Duration>,
    /// Limit for remembered clients.
    pub entries: u32,
    /// Action when the server may not get work.
    pub when_down: UnavailableServerAction,
    /// Whether requests temporarily use another server while this one is full.
    pub spill: bool,
    /// How long a draining server keeps its existing clients.
    pub drain: Duration,
    /// Services with the same value share their table of clients.
    pub share: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AffinityKey {
    /// By the network of the client's address: prefix lengths of IPv4 and IPv6.
    Address(u8, u8),
    /// By the value of a header field.
    Header(String),
    /// By the request's path.
    Path,
    /// By the value of a query parameter.
    Query(String),
    Cookie(AffinityCookie),
    /// By the resumed TLS session.
    TlsSession,
}

/// A cookie for session affinity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AffinityCookie {
    pub name: String,
    /// Who sets the cookie.
    pub mode: CookieMode,
    /// `Secure` (RFC 6265 §4.1.2.5).
    pub secure: bool,
    /// `HttpOnly` (RFC 6265 §4.1.2.6).
    pub http_only: bool,
    /// The value of `SameSite`. `None` omits the attribute.
    pub same_site: Option<&'static str>,
    /// `Domain` (RFC 6265 §4.1.2.3).
    pub domain: Option<String>,
    /// The cookie does not reach servers, and servers cannot set it.
    pub hide: bool,
    /// A response that sets or changes the cookie is `private` to shared caches.
    pub no_cache: bool,
}

/// Who sets a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CookieMode {
    /// The balancer inserts its own cookie beside the application's.
    Insert,
    /// The application sets the cookie, and the balancer replaces its value.
    Rewrite,
    /// The application sets the cookie, and the balancer learns its value.
    Learn,
    /// The application sets the cookie. The client gets it with the server in front of its value.
    Prefix,
    /// The application sets the cookie, and its value names the server.
    Passive,
}

impl CookieMode {
    /// Whether the value is a token made with the secret.
    pub fn uses_secret(self) -> bool {
        matches!(self, CookieMode::Insert | CookieMode::Rewrite)
    }

    /// Whether the value contains the server's name or `cookie-value`.
    pub fn names_server(self) -> bool {
        matches!(self, CookieMode::Prefix | CookieMode::Passive)
    }
}

/// Action when the server of a client may not get work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnavailableServerAction {
    /// Choose another server permanently.
    Choose,
    /// Wait for the server.
    Wait,
    /// Respond with 503.
    Refuse,
}

impl AffinityConfig {
    /// Whether a table of clients is needed: the balancer's own cookies contain the server.
    pub fn needs_table(&self) -> bool {
        match &self.by {
            AffinityKey::Cookie(cookie) => cookie.mode == CookieMode::Learn,
            _ => true,
        }
    }
}
