//! Tokens that were checked a short time ago, so that a client's next requests cost no check of a signature.
//!
//! What is found by is a keyed digest of the whole token. The cache belongs to one reading of the keys and ends with
//! it. Each worker has a part of its own, so workers do not wait for each other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::hmac;
use model::lru_map::LruMap;

use crate::rt::random;

/// Tokens that a worker remembers: with a few fields each they take a third of a MiB.
const ENTRIES: usize = 1_024;

/// Parts. More workers than that share them.
const PARTS: usize = 64;

/// What a right token is worth.
#[derive(Clone, Debug)]
pub struct ProvenToken {
    /// Field lines for servers.
    pub lines: Arc<[u8]>,
    /// In milliseconds since 1970.
    pub until_ms: u64,
}

#[derive(Debug)]
pub struct ProvenTokens {
    key: hmac::Key,
    validity_ms: u64,
    parts: Vec<Mutex<LruMap<RememberedToken>>>,
}

#[derive(Debug)]
struct RememberedToken {
    digest: TokenDigest,
    token: ProvenToken,
}

/// The keyed digest of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenDigest([u8; 32]);

impl ProvenTokens {
    /// Empty, with a new key.
    pub fn new(validity: Duration) -> ProvenTokens {
        let mut key = [0; 32];
        random::fill(&mut key);
        ProvenTokens {
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            validity_ms: u64::try_from(validity.as_millis()).unwrap_or(u64::MAX),
            parts: (0..PARTS).map(|_| Mutex::new(LruMap::new(ENTRIES))).collect(),
        }
    }

    pub fn digest(&self, token: &[u8]) -> TokenDigest {
        let tag = hmac::sign(&self.key, token);
        let mut digest = [0; 32];
        digest.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        TokenDigest(digest)
    }

    /// The token with this digest, if it was checked not too long ago and still holds.
    pub fn find(&self, worker: usize, digest: &TokenDigest, now_ms: u64) -> Option<ProvenToken> {
        let mut part = self.part(worker)?;
        let found = part.touch(digest.slot()).filter(|it| it.digest == *digest)?;
        (now_ms < found.token.until_ms).then(|| found.token.clone())
    }

    pub fn insert(&self, worker: usize, digest: TokenDigest, token: &ProvenToken, now_ms: u64) {
        let until_ms = token.until_ms.min(now_ms.saturating_add(self.validity_ms));
        let token = ProvenToken { until_ms, ..token.clone() };
        if let Some(mut part) = self.part(worker) {
            part.insert(digest.slot(), RememberedToken { digest, token });
        }
    }

    fn part(&self, worker: usize) -> Option<MutexGuard<'_, LruMap<RememberedToken>>> {
        let part = self.parts.get(worker % PARTS)?;
        Some(part.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TokenDigest {
    fn slot(&self) -> u64 {
        self.0.iter().take(8).fold(0, |slot, byte| slot << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proven(until_ms: u64) -> ProvenToken {
        ProvenToken { lines: b"X-User: ann\r\n".as_slice().into(), until_ms }
    }

    #[test]
    fn only_the_same_token_is_known_until_it_or_its_time_ends() {
        let tokens = ProvenTokens::new(Duration::from_secs(5));
        let digest = tokens.digest(b"a.b.c");
        assert!(tokens.find(0, &digest, 0).is_none());
        tokens.insert(0, digest, &proven(9_000), 1_000);
        assert_eq!(&*tokens.find(0, &digest, 5_999).unwrap().lines, b"X-User: ann\r\n");
        assert!(tokens.find(0, &digest, 6_000).is_none(), "it is checked again");
        tokens.insert(0, digest, &proven(9_000), 6_000);
        assert!(tokens.find(0, &digest, 8_999).is_some());
        assert!(tokens.find(0, &digest, 9_000).is_none(), "it has ended");
        assert!(tokens.find(1, &digest, 8_999).is_none(), "another worker's");
        assert!(tokens.find(0, &tokens.digest(b"a.b.d"), 0).is_none());
        let renewed = ProvenTokens::new(Duration::from_secs(5));
        assert!(renewed.digest(b"a.b.c") != digest, "each reading of keys has its own digests");
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let tokens = ProvenTokens::new(Duration::from_secs(5));
        let digest = |at: usize| tokens.digest(at.to_string().as_bytes());
        (0..=ENTRIES).for_each(|at| tokens.insert(0, digest(at), &proven(9_000), 0));
        assert!(tokens.find(0, &digest(0), 0).is_none());
        assert!(tokens.find(0, &digest(ENTRIES), 0).is_some());
        assert_eq!(tokens.part(0).unwrap().len(), ENTRIES);
    }
}
