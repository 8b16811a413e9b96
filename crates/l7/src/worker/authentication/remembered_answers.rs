//! Answers that let requests pass a short time ago, so that the same question is not asked again.
//!
//! What is found by is a keyed digest of the whole question. It holds every field that the service saw, so two clients
//! share an answer only if the service could not tell them apart. Each worker has a part of its own, so workers do not
//! wait for each other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::hmac;
use model::lru_map::LruMap;
use model::monotonic_time::MonotonicTime;

use crate::rt::random;

/// Answers that a worker remembers.
const ENTRIES: usize = 1_024;

/// Bytes of the field lines of an answer. A longer one is not remembered, so that a worker needs 2 MiB at most.
const MAX_LINES_BYTES: usize = 2_048;

/// Parts. More workers than that share them.
const PARTS: usize = 64;

#[derive(Debug)]
pub struct RememberedAnswers {
    key: hmac::Key,
    parts: Vec<Mutex<LruMap<RememberedAnswer>>>,
}

#[derive(Debug)]
struct RememberedAnswer {
    digest: QuestionDigest,
    /// Field lines for the server.
    lines: Arc<[u8]>,
    until: MonotonicTime,
}

/// The keyed digest of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionDigest([u8; 32]);

impl RememberedAnswers {
    /// Empty, with a new key.
    pub fn new() -> RememberedAnswers {
        let mut key = [0; 32];
        random::fill(&mut key);
        RememberedAnswers {
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            parts: (0..PARTS).map(|_| Mutex::new(LruMap::new(ENTRIES))).collect(),
        }
    }

    /// The digest of a whole question.
    pub fn digest(&self, question: &[u8]) -> QuestionDigest {
        let tag = hmac::sign(&self.key, question);
        let mut digest = [0; 32];
        digest.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        QuestionDigest(digest)
    }

    /// The field lines of an answer to the same question that still counts.
    pub fn find(
        &self,
        worker: usize,
        digest: &QuestionDigest,
        now: MonotonicTime,
    ) -> Option<Arc<[u8]>> {
        let mut part = self.part(worker)?;
        let found = part.touch(digest.slot()).filter(|it| it.digest == *digest)?;
        (now < found.until).then(|| Arc::clone(&found.lines))
    }

    /// Remembers an answer for this time. Returns whether another one that still counts was forgotten for it.
    pub fn insert(
        &self,
        worker: usize,
        digest: QuestionDigest,
        lines: &[u8],
        validity: Duration,
        now: MonotonicTime,
    ) -> bool {
        if lines.len() > MAX_LINES_BYTES {
            return false;
        }
        let answer = RememberedAnswer { digest, lines: lines.into(), until: now + validity };
        let gone = self.part(worker).and_then(|mut part| part.insert(digest.slot(), answer));
        gone.is_some_and(|gone| now < gone.until)
    }

    fn part(&self, worker: usize) -> Option<MutexGuard<'_, LruMap<RememberedAnswer>>> {
        let part = self.parts.get(worker % PARTS)?;
        Some(part.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl QuestionDigest {
    fn slot(&self) -> u64 {
        self.0.iter().take(8).fold(0, |slot, byte| slot << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::super::question::tests::object;
    use super::super::question::{QuestionFacts, write_question};
    use super::*;

    const NOW: MonotonicTime = MonotonicTime(1_000_000_000);
    const FIVE: Duration = Duration::from_secs(5);

    #[test]
    fn an_answer_counts_for_its_time_and_its_worker() {
        let answers = RememberedAnswers::new();
        let digest = answers.digest(b"GET /");
        assert!(answers.find(0, &digest, NOW).is_none());
        assert!(!answers.insert(0, digest, b"X-User: ann\r\n", FIVE, NOW));
        let late = NOW + Duration::from_millis(4_999);
        assert_eq!(&*answers.find(0, &digest, late).unwrap(), b"X-User: ann\r\n");
        assert!(answers.find(1, &digest, NOW).is_none(), "another worker's");
        assert!(answers.find(0, &digest, NOW + FIVE).is_none());
        assert!(RememberedAnswers::new().digest(b"GET /") != digest, "each has its own key");
        let long = answers.digest(b"GET /long");
        answers.insert(0, long, &[b'a'; MAX_LINES_BYTES + 1], FIVE, NOW);
        assert!(answers.find(0, &long, NOW).is_none());
    }

    #[test]
    fn memory_is_bounded_and_what_is_forgotten_early_is_told() {
        let answers = RememberedAnswers::new();
        let digest = |at: usize| answers.digest(&at.to_le_bytes());
        let evicts = |at, now| answers.insert(0, digest(at), b"", FIVE, now);
        assert!((0..ENTRIES).all(|at| !evicts(at, NOW)));
        assert!(!evicts(7, NOW), "the same question");
        assert!(evicts(ENTRIES, NOW) && answers.find(0, &digest(0), NOW).is_none());
        assert!(!evicts(ENTRIES + 1, NOW + FIVE), "it counted no longer");
        assert_eq!(answers.part(0).unwrap().len(), ENTRIES);
    }

    #[test]
    fn whatever_a_service_sees_makes_another_question() {
        let answers = RememberedAnswers::new();
        let head = "GET /a HTTP/1.1\r\nHost: a\r\nCookie: user=ann\r\nAuthorization: Bearer x\r\nX-T: 1\r\n\r\n";
        let object = object("request-headers = [\"Cookie\", \"Authorization\", \"X-T\"]");
        let facts = QuestionFacts {
            method: b"GET",
            target: b"/a",
            scheme: "http",
            client: [192, 0, 2, 1].into(),
            head: head.as_bytes(),
        };
        let digest =
            |facts: &QuestionFacts<'_>| answers.digest(&write_question(&object, facts).unwrap());
        let own = digest(&facts);
        assert_eq!(digest(&facts), own);
        let heads = [
            head.replace("user=ann", "user=bob"),
            head.replace("Bearer x", "Bearer y"),
            head.replace("X-T: 1", "X-T: 2"),
            head.replace("X-T: 1", "X-T: 1\r\nX-T: 1"),
            head.replace("X-T: 1", "X-U: 1"),
            head.replace("Cookie: user=ann\r\n", ""),
            // The same bytes in other fields.
            head.replace("Cookie: user=ann", "Cookie: user=annX-T: 1")
                .replace("\r\nX-T: 1\r\n", "\r\n"),
            head.replace("Host: a", "Host: b"),
        ];
        let others = heads.iter().map(|head| QuestionFacts { head: head.as_bytes(), ..facts });
        let others = others.chain([
            QuestionFacts { method: b"POST", ..facts },
            QuestionFacts { target: b"/b", ..facts },
            QuestionFacts { scheme: "https", ..facts },
            QuestionFacts { client: [192, 0, 2, 2].into(), ..facts },
        ]);
        for other in others {
            assert!(digest(&other) != own, "{other:?}");
        }
        let unseen = head.replace("X-T: 1", "X-T: 1\r\nUser-Agent: b");
        assert_eq!(digest(&QuestionFacts { head: unseen.as_bytes(), ..facts }), own);
    }
}
