//! How a proxied service keeps clients at their servers, in its checked form. What is remembered is `affinity`'s.

use serde::Serialize;
use std::time::Duration;

/// How a service keeps clients at their servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AffinityConfig {
    /// How clients are recognised.
    pub by: AffinityKey,
    /// How long after its last request a client keeps its server; `None`: as long as its browser keeps our cookie.
    pub time: Option<Duration>,
    /// Clients that are remembered at a time.
    pub entries: u32,
    /// When the server may take no work.
    pub gone: UnavailableServerAction,
    /// When it is full, another one is taken for this time.
    pub spill: bool,
    /// How long a draining server keeps the clients that it has.
    pub drain: Duration,
    /// Services with the same word share what they remember.
    pub share: Option<String>,
}

/// How clients are recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AffinityKey {
    /// The network of the address: bits that count of IPv4 and of IPv6.
    Address(u8, u8),
    /// The value of a field.
    Header(String),
    /// The path.
    Path,
    /// The value of a parameter of the query.
    Query(String),
    /// A cookie.
    Cookie(AffinityCookie),
    /// The TLS session that is resumed.
    TlsSession,
}

/// A cookie that keeps clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AffinityCookie {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub mode: CookieMode,
    /// `Secure` (RFC 6265 §4.1.2.5).
    pub secure: bool,
    /// `HttpOnly` (RFC 6265 §4.1.2.6).
    pub http_only: bool,
    /// `SameSite`, as written.
    pub same_site: &'static str,
}

/// Whose a cookie is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CookieMode {
    /// Ours, beside the application's.
    Insert,
    /// The application's, with our value in the place of its own.
    Rewrite,
    /// The application's: its value is learned.
    Learn,
}

/// When the server of a client may take no work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnavailableServerAction {
    /// Another one is chosen, for good.
    Choose,
    /// It is waited for.
    Wait,
    /// 503.
    Refuse,
}

impl AffinityConfig {
    /// Whether a table is needed: our own cookies carry the server themselves.
    pub fn needs_table(&self) -> bool {
        !matches!(
            &self.by,
            AffinityKey::Cookie(AffinityCookie {
                mode: CookieMode::Insert | CookieMode::Rewrite,
                ..
            })
        )
    }
}
