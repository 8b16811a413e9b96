//! When the keys of a URL are fetched, and what comes of an answer: at an interval, sooner after a failure, and for a key
//! that is not among them. The time and random draws are passed in. It fetches nothing.

use std::sync::Arc;
use std::time::Duration;

use credentials::jwt::key_set::KeySetError;
use model::monotonic_time::MonotonicTime;

use super::answer::{KeySetAnswer, KeySetFetchError};

/// The pause after the first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// The longest pause after failures: keys are there so soon after their server is.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// At least so long lies between a fetch and the next one for an unknown key: whoever invents key ids has no more
/// fetched.
pub const UNKNOWN_KEY_PAUSE: Duration = Duration::from_secs(5);

/// An answer that is fresh for less is fetched no sooner: its server would be asked without end.
const SHORTEST_FRESHNESS: Duration = Duration::from_secs(60);

/// The part of an interval by which a draw shortens it, so that daemons that began together do not ask together.
const JITTER_PARTS: u32 = 10;

#[derive(Debug)]
pub struct KeySetState {
    refresh: Duration,
    next: MonotonicTime,
    begun: Option<MonotonicTime>,
    is_running: bool,
    misses_key: bool,
    failures: u32,
    fault: Option<KeySetFault>,
    active: Option<ActiveKeySet>,
    revision: u64,
}

/// The set in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveKeySet {
    pub content: Arc<str>,
    /// What its server calls this version.
    pub etag: Option<String>,
    /// When its server said last that this is the set.
    pub confirmed: MonotonicTime,
    /// How long before that, for a set of an earlier process.
    pub earlier_age: Duration,
    /// Another number for each content; never 0.
    pub revision: u64,
}

/// Why the last fetch brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum KeySetFault {
    #[error("{0}")]
    Fetch(#[from] KeySetFetchError),
    #[error("{0}")]
    Content(#[from] KeySetError),
    #[error("it answers that nothing changed, but there is nothing")]
    Unasked,
}

/// What came of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchResult {
    /// There is another set than before.
    Renewed,
    /// The set is as it was.
    Confirmed,
    /// The first failure after a success, or the first of all.
    BeganToFail,
    StillFails,
}

/// An answer that counts.
struct TakenAnswer {
    result: FetchResult,
    fresh_for: Duration,
}

impl ActiveKeySet {
    /// How long ago its server said that this is the set.
    pub fn age(&self, now: MonotonicTime) -> Duration {
        self.earlier_age.saturating_add(now.since(self.confirmed))
    }
}

impl KeySetState {
    /// Due now. `active`: a set that an earlier process fetched.
    pub fn new(refresh: Duration, active: Option<ActiveKeySet>, now: MonotonicTime) -> KeySetState {
        KeySetState {
            refresh,
            next: now,
            begun: None,
            is_running: false,
            misses_key: false,
            failures: 0,
            fault: None,
            revision: active.as_ref().map_or(0, |active| active.revision),
            active,
        }
    }

    /// Another interval counts, also for the fetch that comes next.
    pub fn set_refresh(&mut self, refresh: Duration, now: MonotonicTime) {
        self.refresh = refresh;
        self.next = self.next.min(now + refresh);
    }

    /// A token named a key that is not in the set.
    pub fn report_missed_key(&mut self) {
        self.misses_key = true;
    }

    /// Whether to begin a fetch.
    pub fn is_due(&self, now: MonotonicTime) -> bool {
        let may_for_key = || self.begun.is_none_or(|begun| now >= begun + UNKNOWN_KEY_PAUSE);
        !self.is_running && (now >= self.next || self.misses_key && may_for_key())
    }

    pub fn begin(&mut self, now: MonotonicTime) {
        self.begun = Some(now);
        self.is_running = true;
        self.misses_key = false;
    }

    /// The fetch has ended. `check`: whether a set can be used; `draw`: a random number.
    pub fn finish(
        &mut self,
        outcome: Result<KeySetAnswer, KeySetFetchError>,
        check: impl FnOnce(&str) -> Result<(), KeySetError>,
        now: MonotonicTime,
        draw: u64,
    ) -> FetchResult {
        self.is_running = false;
        let fault = match self.take_up(outcome, check, now) {
            Ok(TakenAnswer { result, fresh_for }) => {
                self.failures = 0;
                self.fault = None;
                self.next = now + shortened(fresh_for, draw);
                return result;
            }
            Err(fault) => fault,
        };
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(10)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.next = now + shortened(pause.min(self.refresh), draw);
        match self.fault.replace(fault) {
            None => FetchResult::BeganToFail,
            Some(_) => FetchResult::StillFails,
        }
    }

    fn take_up(
        &mut self,
        outcome: Result<KeySetAnswer, KeySetFetchError>,
        check: impl FnOnce(&str) -> Result<(), KeySetError>,
        now: MonotonicTime,
    ) -> Result<TakenAnswer, KeySetFault> {
        let KeySetAnswer { content, etag, max_age } = outcome?;
        let shortest = SHORTEST_FRESHNESS.min(self.refresh);
        let fresh_for = max_age.map_or(self.refresh, |age| age.clamp(shortest, self.refresh));
        let is_same =
            |active: &&mut ActiveKeySet| content.as_ref().is_none_or(|it| **it == *active.content);
        if let Some(active) = self.active.as_mut().filter(is_same) {
            // An answer without content may leave the field out.
            if content.is_some() || etag.is_some() {
                active.etag = etag;
            }
            active.confirmed = now;
            active.earlier_age = Duration::ZERO;
            return Ok(TakenAnswer { result: FetchResult::Confirmed, fresh_for });
        }
        let content = content.ok_or(KeySetFault::Unasked)?;
        check(&content)?;
        self.revision += 1;
        self.active = Some(ActiveKeySet {
            content: content.into(),
            etag,
            confirmed: now,
            earlier_age: Duration::ZERO,
            revision: self.revision,
        });
        Ok(TakenAnswer { result: FetchResult::Renewed, fresh_for })
    }

    /// The set in use.
    pub fn active(&self) -> Option<&ActiveKeySet> {
        self.active.as_ref()
    }

    /// The set in use, if it was the right one less than `keep` ago.
    pub fn usable(&self, keep: Duration, now: MonotonicTime) -> Option<&ActiveKeySet> {
        self.active.as_ref().filter(|active| active.age(now) < keep)
    }

    /// Why the last fetch brought nothing; `None`: it did, or there was none.
    pub fn fault(&self) -> Option<&KeySetFault> {
        self.fault.as_ref()
    }
}

fn shortened(span: Duration, draw: u64) -> Duration {
    let thousandths = u32::try_from(draw % 1_000).unwrap_or(0);
    span.saturating_sub(span / JITTER_PARTS * thousandths / 1_000)
}

#[cfg(test)]
mod tests;
