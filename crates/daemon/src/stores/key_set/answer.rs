//! What the server of a JWK Set is asked and answers, as far as it matters. It fetches nothing.

use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use credentials::jwt::key_set::MAX_SET_BYTES;
use model::config::KeySetUrl;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct KeySetQuestion {
    pub url: KeySetUrl,
    /// Who may have signed the certificate of the server; `None`: whom the machine trusts.
    pub ca: Option<PathBuf>,
    /// What the server calls the set that is there.
    pub etag: Option<String>,
}

/// How a fetch ends.
pub type KeySetOutcome = Result<KeySetAnswer, KeySetFetchError>;

/// A fetch under way.
pub type RunningFetch = Pin<Box<dyn Future<Output = KeySetOutcome> + Send>>;

/// An answer with status 200 or 304.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySetAnswer {
    /// `None`: the set is the one that the request named (RFC 9110 §15.4.5).
    pub content: Option<String>,
    /// The field `ETag`.
    pub etag: Option<String>,
    /// How long the answer is fresh (RFC 9111 §5.2.2.1).
    pub max_age: Option<Duration>,
}

/// Why there is no answer that counts.
#[derive(Debug, thiserror::Error)]
pub enum KeySetFetchError {
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    #[error("{0}")]
    Request(String),
    #[error("it answers {0}, and redirects are not followed")]
    Redirect(u16),
    #[error("it answers {0}")]
    Status(u16),
    #[error("its answer ends early, or has more than {MAX_SET_BYTES} bytes")]
    Body,
    #[error("its answer is no text in UTF-8")]
    Text,
}

/// The freshness that a field `Cache-Control` states; `None`: it states none.
pub fn max_age(cache_control: &str) -> Option<Duration> {
    let mut age = None;
    for directive in cache_control.split(',').map(str::trim) {
        let mut parts = directive.splitn(2, '=');
        let name = parts.next().unwrap_or_default().trim();
        if ["no-cache", "no-store"].iter().any(|word| name.eq_ignore_ascii_case(word)) {
            return Some(Duration::ZERO);
        }
        if name.eq_ignore_ascii_case("max-age") {
            let value = parts.next()?.trim().trim_matches('"');
            // A number that is too large counts as a large one (RFC 9111 §1.2.2).
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let seconds = is_number.then(|| value.parse().unwrap_or(u64::from(u32::MAX)))?;
            age = Some(Duration::from_secs(seconds));
        }
    }
    age
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_is_what_the_field_states() {
        for (field, seconds) in [
            ("max-age=60", Some(60)),
            ("public, Max-Age=\"7\" , must-revalidate", Some(7)),
            ("max-age=99999999999999999999", Some(u64::from(u32::MAX))),
            ("max-age=60, no-cache", Some(0)),
            ("no-store", Some(0)),
            ("max-age=-1", None),
            ("max-age", None),
            ("public", None),
            ("", None),
        ] {
            assert_eq!(max_age(field), seconds.map(Duration::from_secs), "{field}");
        }
    }
}
