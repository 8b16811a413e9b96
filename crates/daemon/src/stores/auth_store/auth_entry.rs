//! One object of authentication with what was read of its file, or fetched in its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use l7::auth_object::AuthObject;
use model::config::AuthConfig;
use model::monotonic_time::MonotonicTime;

use super::auth_fault::{AS_BEFORE, AuthFault, AuthFileError, ReloadedAuth, TOKENS_REFUSED};
use super::fetched_keys::{FetchedKeys, KeyReplacement};
use crate::stores::key_set::lock_source;
use crate::stores::key_set::refresh_state::FetchResult;
use crate::util::file_stamps::FileStamps;

#[derive(Clone, Debug)]
pub struct AuthEntry {
    pub object: Arc<AuthObject>,
    /// How its file was when it was read.
    pub stamps: FileStamps,
    /// How it was at the last look, if otherwise.
    pub pending_stamps: Option<FileStamps>,
    /// It was no good at the last reading.
    pub is_refused: bool,
    /// The keys of its URL, in the place of a file.
    pub fetched: Option<FetchedKeys>,
}

impl AuthEntry {
    pub fn new(
        object: Arc<AuthObject>,
        stamps: FileStamps,
        fetched: Option<FetchedKeys>,
    ) -> AuthEntry {
        AuthEntry { object, stamps, pending_stamps: None, is_refused: false, fetched }
    }

    /// Whether another set is active, and whether that could not be fetched. `results`: how fetches ended just now.
    pub fn look_at_keys(
        &mut self,
        results: &BTreeMap<&String, FetchResult>,
        now: MonotonicTime,
        result: &mut ReloadedAuth,
    ) {
        let config = Arc::clone(&self.object.config);
        let (Some(fetched), Some(url)) = (&mut self.fetched, &config.jwks_url) else { return };
        let shared = Arc::clone(&fetched.source);
        let mut source = lock_source(&shared);
        let state = source.state();
        if self.object.take_missed_key() {
            state.report_missed_key();
        }
        let fault = |error, effect| AuthFault { key: key_of(&config), error, effect };
        match fetched.look(&config, state, now) {
            None => {}
            Some(KeyReplacement::Renewed(object)) => {
                self.object = object;
                result.is_changed = true;
                let sentence = format!("auth.{}: the keys of {url} are active", config.name);
                result.renewed.push(sentence);
            }
            Some(KeyReplacement::Outdated(object)) => {
                self.object = object;
                result.is_changed = true;
                let error = AuthFileError::Outdated { url: url.to_string(), keep: config.keep };
                result.refused.push(fault(error, TOKENS_REFUSED));
            }
        }
        self.is_refused = state.fault().is_some();
        let reason = state.fault().map(ToString::to_string);
        let outcome = results.get(&fetched.origin);
        let (Some(reason), Some(outcome)) = (reason, outcome) else { return };
        let url = url.to_string();
        let usable = state.usable(config.keep, now).map(|set| set.age(now));
        let error = match state.active().map(|set| set.age(now)) {
            Some(age) => AuthFileError::Fetch { url, reason, age },
            None => AuthFileError::FirstFetch { url, reason },
        };
        let fault = fault(error, if usable.is_some() { AS_BEFORE } else { TOKENS_REFUSED });
        match outcome {
            FetchResult::BeganToFail => result.refused.push(fault),
            FetchResult::StillFails => result.repeated.push(fault),
            FetchResult::Renewed | FetchResult::Confirmed => {}
        }
    }
}

/// The key of a file, or of the URL in its place.
pub fn key_of(config: &AuthConfig) -> String {
    let key = if config.jwks_url.is_some() { "jwks-url" } else { "file" };
    format!("auth.{}.{key}", config.name)
}
