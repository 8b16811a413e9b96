//! The keys of one URL: those in use, the fetch under way, and the file that keeps them over a restart.
//!
//! A fetch runs by itself and leaves what came of it. Nobody waits for it.

pub mod answer;
pub mod refresh_state;
mod saved_set;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use credentials::jwt::algorithm::JwtAlgorithm;
use credentials::jwt::key_set::{JsonWebKeySet, KeySetError};
use model::config::{AuthConfig, KeySetUrl};
use model::monotonic_time::MonotonicTime;

use self::answer::{KeySetOutcome, KeySetQuestion, RunningFetch};
use self::refresh_state::{ActiveKeySet, FetchResult, KeySetState};
use self::saved_set::{SavedKeySet, remove_others, saved_time};
use crate::util::random_seed::random_seed;

/// A set that nobody changes is written again after this time, for its age: it ends so much too early after a restart.
const SAVE_INTERVAL: Duration = Duration::from_secs(60);

/// The sources of a configuration, by what they fetch.
pub type KeySetSources = BTreeMap<String, Arc<Mutex<KeySetSource>>>;

#[derive(Debug)]
pub struct KeySetSource {
    url: KeySetUrl,
    ca: Option<PathBuf>,
    algorithms: Vec<JwtAlgorithm>,
    origin: String,
    setup: KeySetSetup,
    saved_at: Option<MonotonicTime>,
    fails_to_save: bool,
    /// A failure to write the file that was not reported.
    save_error: Option<io::Error>,
    state: KeySetState,
    outcome: Arc<Mutex<Option<KeySetOutcome>>>,
}

/// Where sets are from, and where they stay.
#[derive(Clone, Debug)]
pub struct KeySetSetup {
    /// The directory of the state; `None`: nothing is stored.
    pub state_dir: Option<PathBuf>,
    /// Asks a server.
    pub fetch: fn(KeySetQuestion) -> RunningFetch,
}

/// What an object fetches: those with the same text share a source.
pub fn key_set_origin(config: &AuthConfig, url: &KeySetUrl) -> String {
    let ca = config.ca.as_deref().unwrap_or(Path::new("")).display();
    format!("{url} {ca} {}", config.algorithms.join(","))
}

/// The lock of a source: it is held for moments alone.
pub fn lock_source(source: &Mutex<KeySetSource>) -> MutexGuard<'_, KeySetSource> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the files of sets that no source has.
pub fn remove_unused(state_dir: &Path, sources: &KeySetSources) {
    remove_others(state_dir, sources.keys());
}

impl KeySetSource {
    /// The source for an object, with the set that an earlier process fetched.
    pub fn new(
        config: &AuthConfig,
        url: &KeySetUrl,
        origin: String,
        setup: &KeySetSetup,
        now: MonotonicTime,
    ) -> KeySetSource {
        let names = config.algorithms.iter();
        let algorithms: Vec<JwtAlgorithm> =
            names.filter_map(|name| JwtAlgorithm::from_name(name)).collect();
        let state_dir = setup.state_dir.as_deref();
        let saved = state_dir.and_then(|state_dir| SavedKeySet::read(state_dir, &origin));
        let active = saved.and_then(|saved| {
            check_set(&saved.content, &algorithms).ok()?;
            Some(ActiveKeySet {
                earlier_age: saved.age(SystemTime::now())?,
                content: saved.content.into(),
                etag: saved.etag,
                confirmed: now,
                revision: 1,
            })
        });
        KeySetSource {
            url: url.clone(),
            ca: config.ca.clone(),
            algorithms,
            origin,
            setup: setup.clone(),
            saved_at: None,
            fails_to_save: false,
            save_error: None,
            state: KeySetState::new(config.refresh, active, now),
            outcome: Arc::default(),
        }
    }

    /// The decisions.
    pub fn state(&mut self) -> &mut KeySetState {
        &mut self.state
    }

    /// A failure to write the file, once.
    pub fn take_save_error(&mut self) -> Option<io::Error> {
        self.save_error.take()
    }

    /// Takes up what came of the fetch; `None`: it is under way, or there is none.
    pub fn take_result(&mut self, now: MonotonicTime) -> Option<FetchResult> {
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let check = |content: &str| check_set(content, &self.algorithms);
        let result = self.state.finish(outcome, check, now, random_seed());
        match result {
            FetchResult::Renewed => self.save(now),
            FetchResult::Confirmed => {
                if self.saved_at.is_none_or(|then| now.since(then) >= SAVE_INTERVAL) {
                    self.save(now);
                }
            }
            FetchResult::BeganToFail | FetchResult::StillFails => {}
        }
        Some(result)
    }

    /// Begins a fetch if one is due. Without a runtime there is nobody whom the keys could serve.
    pub fn fetch_if_due(&mut self, now: MonotonicTime) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.state.is_due(now) {
            return;
        }
        self.state.begin(now);
        let etag = self.state.active().and_then(|active| active.etag.clone());
        let question = KeySetQuestion { url: self.url.clone(), ca: self.ca.clone(), etag };
        let outcome = Arc::clone(&self.outcome);
        let fetch = (self.setup.fetch)(question);
        runtime.spawn(async move {
            let result = fetch.await;
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
    }

    fn save(&mut self, now: MonotonicTime) {
        let (Some(state_dir), Some(active)) = (&self.setup.state_dir, self.state.active()) else {
            return;
        };
        let saved = SavedKeySet {
            origin: self.origin.clone(),
            confirmed_unix_ms: saved_time(SystemTime::now()),
            etag: active.etag.clone(),
            content: active.content.to_string(),
        };
        let failed = saved.write(state_dir).err();
        let is_news = !std::mem::replace(&mut self.fails_to_save, failed.is_some());
        self.save_error = failed.filter(|_| is_news);
        self.saved_at = Some(now);
    }
}

fn check_set(content: &str, algorithms: &[JwtAlgorithm]) -> Result<(), KeySetError> {
    JsonWebKeySet::parse(content.as_bytes(), algorithms).map(drop)
}
