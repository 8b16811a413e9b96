//! The stored responses of requests with idempotency keys, bounded in number, size and time. The caller passes the
//! time; this module reads no clock and executes no request.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};

/// Bounds the memory of stored responses. The oldest one is evicted first.
/// A thousand changes: more than operators and tools make in an hour.
const MAX_ENTRIES: usize = 1_024;
/// Bytes of their answers together.
const BYTES: usize = 16 << 20;
/// Bytes of one answer: that of a larger one is not remembered, but that it was given.
const MAX_RESPONSE_BYTES: usize = 1 << 20;
/// A client may repeat a request with its key for a day, as callers of such interfaces expect.
const TIME_TO_LIVE: Duration = Duration::from_secs(86_400);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    /// Who uses it: keys of others are other keys.
    pub client: String,
    pub key: String,
}

/// A digest of the parts that distinguish one request from another.
pub type RequestFingerprint = [u8; 32];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedResponse {
    pub status: u16,
    /// Header fields that are replayed.
    pub fields: HeaderMap,
    pub body: Bytes,
}

/// The decision about a request with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyLookup {
    /// It is carried out.
    New,
    /// The request was carried out, with this response.
    Cached(CachedResponse),
    /// It is being carried out.
    InProgress,
    /// The key belongs to another request.
    KeyReused,
    /// All entries belong to pending requests, which cannot be evicted.
    Full,
}

#[derive(Debug, Default)]
pub struct IdempotencyCache {
    entries: HashMap<IdempotencyKey, CachedRequest>,
    /// Completed requests, oldest first.
    done: VecDeque<CompletedRequest>,
    bytes: usize,
}

/// A request that was answered, in the order of the answers.
#[derive(Debug)]
struct CompletedRequest {
    key: IdempotencyKey,
    /// The caller's clock when the response was recorded.
    finished_at: Duration,
}

#[derive(Debug)]
struct CachedRequest {
    fingerprint: RequestFingerprint,
    /// `None`: it is under way.
    response: Option<CachedResponse>,
}

impl IdempotencyCache {
    /// A request begins. `now` is any clock that only grows.
    pub fn begin_request(
        &mut self,
        key: &IdempotencyKey,
        print: RequestFingerprint,
        now: Duration,
    ) -> KeyLookup {
        let expired =
            |oldest: &CompletedRequest| now.saturating_sub(oldest.finished_at) >= TIME_TO_LIVE;
        while self.done.front().is_some_and(expired) {
            self.forget();
        }
        match self.entries.get(key) {
            Some(entry) if entry.fingerprint != print => return KeyLookup::KeyReused,
            Some(CachedRequest { response: Some(answer), .. }) => {
                return KeyLookup::Cached(answer.clone());
            }
            Some(_) => return KeyLookup::InProgress,
            None => {}
        }
        if self.entries.len() >= MAX_ENTRIES && !self.forget() {
            return KeyLookup::Full;
        }
        self.entries.insert(key.clone(), CachedRequest { fingerprint: print, response: None });
        KeyLookup::New
    }

    /// Records the response of a request. `None`: nothing was changed, and the client may retry the same request.
    pub fn finish_request(
        &mut self,
        key: &IdempotencyKey,
        answer: Option<CachedResponse>,
        now: Duration,
    ) {
        let Some(answer) = answer else {
            self.entries.remove(key);
            return;
        };
        let answer =
            if answer.body.len() > MAX_RESPONSE_BYTES { too_large(&answer) } else { answer };
        let Some(entry) = self.entries.get_mut(key) else { return };
        self.bytes += answer.body.len();
        entry.response = Some(answer);
        self.done.push_back(CompletedRequest { key: key.clone(), finished_at: now });
        while self.bytes > BYTES && self.forget() {}
    }

    /// Forgets the oldest that is done; whether there was one.
    fn forget(&mut self) -> bool {
        let Some(CompletedRequest { key, .. }) = self.done.pop_front() else { return false };
        let answer = self.entries.remove(&key).and_then(|entry| entry.response);
        self.bytes -= answer.map_or(0, |answer| answer.body.len());
        true
    }
}

fn too_large(answer: &CachedResponse) -> CachedResponse {
    let text = format!(
        "{{\"type\":\"/problems/idempotency-answer\",\"title\":\"Conflict\",\"status\":409,\"detail\":\"this was carried \
         out and answered with {}; the answer was too large to be kept\"}}",
        answer.status
    );
    let kind = HeaderValue::from_static(api::routes::PROBLEM);
    CachedResponse {
        status: 409,
        fields: HeaderMap::from_iter([(header::CONTENT_TYPE, kind)]),
        body: Bytes::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> IdempotencyKey {
        IdempotencyKey { client: "token a".into(), key: name.into() }
    }

    fn answer(bytes: usize) -> CachedResponse {
        CachedResponse {
            status: 200,
            fields: HeaderMap::new(),
            body: Bytes::from(vec![b'x'; bytes]),
        }
    }

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn the_first_is_carried_out_and_the_others_have_its_answer() {
        let mut memory = IdempotencyCache::default();
        assert_eq!(memory.begin_request(&key("k"), [1; 32], NOW), KeyLookup::New);
        assert_eq!(memory.begin_request(&key("k"), [1; 32], NOW), KeyLookup::InProgress);
        assert_eq!(memory.begin_request(&key("k"), [2; 32], NOW), KeyLookup::KeyReused);
        memory.finish_request(&key("k"), Some(answer(3)), NOW);
        assert_eq!(memory.begin_request(&key("k"), [1; 32], NOW), KeyLookup::Cached(answer(3)));
        assert_eq!(memory.begin_request(&key("k"), [2; 32], NOW), KeyLookup::KeyReused);
        let theirs = IdempotencyKey { client: "token b".into(), ..key("k") };
        assert_eq!(
            memory.begin_request(&theirs, [2; 32], NOW),
            KeyLookup::New,
            "keys are everybody's own"
        );
        memory.finish_request(&theirs, None, NOW);
        assert_eq!(
            memory.begin_request(&theirs, [3; 32], NOW),
            KeyLookup::New,
            "nothing was carried out"
        );
        assert_eq!(
            memory.begin_request(&key("k"), [9; 32], TIME_TO_LIVE),
            KeyLookup::New,
            "a day later"
        );
    }

    #[test]
    fn it_is_bounded_in_number_and_bytes_and_what_is_under_way_stays() {
        let mut memory = IdempotencyCache::default();
        memory.begin_request(&key("first"), [0; 32], NOW);
        for n in 0..2 * MAX_ENTRIES {
            let key = key(&n.to_string());
            assert_eq!(memory.begin_request(&key, [0; 32], NOW), KeyLookup::New);
            memory.finish_request(&key, Some(answer(100)), NOW);
            assert!(memory.entries.len() <= MAX_ENTRIES && memory.bytes == 100 * memory.done.len());
        }
        assert_eq!(memory.begin_request(&key("first"), [0; 32], NOW), KeyLookup::InProgress);
        for n in 0..40 {
            let key = key(&format!("large {n}"));
            memory.begin_request(&key, [0; 32], NOW);
            memory.finish_request(&key, Some(answer(MAX_RESPONSE_BYTES)), NOW);
            assert!(memory.bytes <= BYTES);
        }
        let key = key("too large");
        memory.begin_request(&key, [0; 32], NOW);
        memory.finish_request(&key, Some(answer(MAX_RESPONSE_BYTES + 1)), NOW);
        let KeyLookup::Cached(cached) = memory.begin_request(&key, [0; 32], NOW) else {
            panic!("not kept")
        };
        let problem: api::types::Problem = serde_json::from_slice(&cached.body).unwrap();
        assert!(cached.status == 409 && problem.detail.contains("200"), "{problem:?}");
    }

    #[test]
    fn when_all_are_under_way_no_more_begin() {
        let mut memory = IdempotencyCache::default();
        for n in 0..MAX_ENTRIES {
            assert_eq!(memory.begin_request(&key(&n.to_string()), [0; 32], NOW), KeyLookup::New);
        }
        assert_eq!(memory.begin_request(&key("more"), [0; 32], NOW), KeyLookup::Full);
        memory.finish_request(&key("7"), Some(answer(1)), NOW);
        assert_eq!(memory.begin_request(&key("more"), [0; 32], NOW), KeyLookup::New);
    }
}
