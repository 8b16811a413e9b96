//! Verifies where the keys of tokens come from: a file, or a URL with what belongs to it.

use super::key_set_url::{KeySetUrl, KeySetUrlError};
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

/// Keys that say how a URL is fetched.
pub const FETCH_KEYS: [&str; 3] = ["ca", "refresh", "max-stale"];

/// For objects with `kind = "jwt"`.
pub fn verify_key_url(object: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let mut refuse = |key: &'static str, trouble: FindingDetails| {
        sink.error(object.span_of(key), &format!("{path}.{key}"), trouble);
    };
    let Some(text) = object.text("jwks-url") else {
        let is_wanted = object.is_invalid("jwks-url");
        for key in FETCH_KEYS.into_iter().filter(|key| !is_wanted && object.is_written(key)) {
            let trouble = FindingDetails::new(format!("`{key}` has no effect without `jwks-url`"));
            refuse(key, trouble);
        }
        return;
    };
    if object.is_written("file") {
        let trouble = FindingDetails::new("`jwks-url` and `file` exclude each other");
        refuse("jwks-url", trouble.with_expected("one place of the keys"));
    }
    match KeySetUrl::parse(text) {
        Ok(url) if !url.secure && object.is_written("ca") => {
            let trouble = FindingDetails::new("`ca` has no effect without TLS");
            refuse("ca", trouble.with_expected("a `jwks-url` with `https`, or no `ca`"));
        }
        Ok(_) => {}
        Err(error) => {
            let expected = match error {
                KeySetUrlError::PlainText => "`https`; `http` is for this machine alone",
                _ => "a URL such as \"https://accounts.example/keys\"",
            };
            let trouble = FindingDetails::new(format!("no keys can be fetched there: {error}"));
            refuse("jwks-url", trouble.with_found(format!("{text:?}")).with_expected(expected));
        }
    }
    let times = object.time("refresh").zip(object.time("max-stale"));
    if let Some((refresh, keep)) = times.filter(|(refresh, keep)| *keep < *refresh * 2) {
        let message = "keys would be too old before a fetch could be tried again";
        let trouble = FindingDetails::new(message).with_found(format!(
            "`refresh` of {} s and `max-stale` of {} s",
            refresh.as_secs(),
            keep.as_secs()
        ));
        let key = if object.is_written("max-stale") { "max-stale" } else { "refresh" };
        refuse(key, trouble.with_expected("a `max-stale` of at least twice `refresh`"));
    }
    // Whoever can fetch such a key could sign with it.
    if let Some(name) = object.keywords("algorithms").iter().find(|name| name.starts_with("HS")) {
        let trouble = FindingDetails::new(format!("keys of `{name}` are secrets, no public keys"));
        refuse("algorithms", trouble.with_expected("a `file`, or algorithms with public keys"));
    }
}
