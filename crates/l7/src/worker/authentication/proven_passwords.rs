//! Passwords that were proven a short time ago, so that a browser's next requests cost no hashing.
//!
//! Kept are keyed digests of name and password, never these themselves. The cache belongs to one reading of the file
//! and ends with it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::hmac;
use model::lru_map::LruMap;
use model::monotonic_time::MonotonicTime;

use crate::rt::random;

/// Users whose passwords are remembered: 4,096 take a third of a MiB.
const ENTRIES: usize = 4_096;

#[derive(Debug)]
pub struct ProvenPasswords {
    key: hmac::Key,
    validity: Duration,
    entries: Mutex<LruMap<ProvenPassword>>,
}

#[derive(Clone, Copy, Debug)]
struct ProvenPassword {
    digest: PasswordDigest,
    until: MonotonicTime,
}

/// The keyed digest of a name and its password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordDigest([u8; 32]);

impl ProvenPasswords {
    /// Empty, with a new key.
    pub fn new(validity: Duration) -> ProvenPasswords {
        let mut key = [0; 32];
        random::fill(&mut key);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        ProvenPasswords { key, validity, entries: Mutex::new(LruMap::new(ENTRIES)) }
    }

    /// The digest of a name and a password.
    pub fn digest(&self, name: &str, password: &[u8]) -> PasswordDigest {
        let mut context = hmac::Context::with_key(&self.key);
        // The length tells where the name ends.
        context.update(&(name.len() as u64).to_be_bytes());
        context.update(name.as_bytes());
        context.update(password);
        let tag = context.sign();
        let mut digest = [0; 32];
        digest.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        PasswordDigest(digest)
    }

    /// Whether they were proven, not too long ago.
    pub fn contains(&self, digest: &PasswordDigest, now: MonotonicTime) -> bool {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.touch(digest.slot()).is_some_and(|it| it.digest == *digest && now < it.until)
    }

    pub fn insert(&self, digest: PasswordDigest, now: MonotonicTime) {
        let proven = ProvenPassword { digest, until: now + self.validity };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.insert(digest.slot(), proven);
    }
}

impl PasswordDigest {
    fn slot(&self) -> u64 {
        self.0.iter().take(8).fold(0, |slot, byte| slot << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_name_and_password_are_known_and_for_a_time() {
        let proven = ProvenPasswords::new(Duration::from_secs(5));
        let now = MonotonicTime(1_000_000_000);
        let digest = proven.digest("ann", b"secret");
        assert!(!proven.contains(&digest, now));
        proven.insert(digest, now);
        assert!(proven.contains(&digest, now + Duration::from_millis(4_999)));
        assert!(!proven.contains(&digest, now + Duration::from_secs(5)));
        for other in [
            proven.digest("ann", b"secres"),
            proven.digest("anns", b"ecret"),
            proven.digest("an", b"nsecret"),
            ProvenPasswords::new(Duration::from_secs(5)).digest("ann", b"secret"),
        ] {
            assert!(!proven.contains(&other, now));
        }
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let proven = ProvenPasswords::new(Duration::from_secs(5));
        let now = MonotonicTime(0);
        let digest = |at: usize| proven.digest(&at.to_string(), b"");
        (0..=ENTRIES).for_each(|at| proven.insert(digest(at), now));
        assert!(!proven.contains(&digest(0), now) && proven.contains(&digest(ENTRIES), now));
        assert_eq!(proven.entries.lock().unwrap().len(), ENTRIES);
    }
}
