//! What is remembered of requests with keys: so many, so large, for so long. Time goes in; it reads no clock and carries
//! nothing out.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue};

/// Requests that are remembered; the oldest goes first.
const MOST: usize = 1_024;
/// Bytes of their answers together.
const BYTES: usize = 16 << 20;
/// Bytes of one answer: that of a larger one is not remembered, but that it was given.
const ANSWER: usize = 1 << 20;
/// For how long.
const LIFE: Duration = Duration::from_secs(86_400);

/// Whose key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Who uses it: keys of others are other keys.
    pub who: String,
    /// The key.
    pub key: String,
}

/// What tells one request from another.
pub type Print = [u8; 32];

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its fields that are given again.
    pub fields: Vec<(HeaderName, HeaderValue)>,
    /// Its body.
    pub body: Bytes,
}

/// What is to be done with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Began {
    /// It is carried out.
    First,
    /// It was: this is the answer.
    Again(Answer),
    /// It is being carried out.
    UnderWay,
    /// The key belongs to another request.
    Other,
    /// So many are under way that nothing can be forgotten.
    Full,
}

/// What is remembered.
#[derive(Debug, Default)]
pub struct Memory {
    all: HashMap<Key, Entry>,
    /// Those that are done, oldest first.
    done: VecDeque<(Key, Duration)>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    print: Print,
    /// `None`: it is under way.
    answer: Option<Answer>,
}

impl Memory {
    /// A request begins. `now` is any clock that only grows.
    pub fn begin(&mut self, key: &Key, print: Print, now: Duration) -> Began {
        while self.done.front().is_some_and(|(_, at)| now.saturating_sub(*at) >= LIFE) {
            self.forget();
        }
        match self.all.get(key) {
            Some(entry) if entry.print != print => return Began::Other,
            Some(Entry { answer: Some(answer), .. }) => return Began::Again(answer.clone()),
            Some(_) => return Began::UnderWay,
            None => {}
        }
        if self.all.len() >= MOST && !self.forget() {
            return Began::Full;
        }
        self.all.insert(key.clone(), Entry { print, answer: None });
        Began::First
    }

    /// It has ended; `None`: nothing was carried out, and the same may be tried again.
    pub fn end(&mut self, key: &Key, answer: Option<Answer>, now: Duration) {
        let Some(answer) = answer else {
            self.all.remove(key);
            return;
        };
        let answer = if answer.body.len() > ANSWER { too_large(&answer) } else { answer };
        let Some(entry) = self.all.get_mut(key) else { return };
        self.bytes += answer.body.len();
        entry.answer = Some(answer);
        self.done.push_back((key.clone(), now));
        while self.bytes > BYTES && self.forget() {}
    }

    /// Forgets the oldest that is done; whether there was one.
    fn forget(&mut self) -> bool {
        let Some((key, _)) = self.done.pop_front() else { return false };
        let answer = self.all.remove(&key).and_then(|entry| entry.answer);
        self.bytes -= answer.map_or(0, |answer| answer.body.len());
        true
    }
}

fn too_large(answer: &Answer) -> Answer {
    let text = format!(
        "{{\"type\":\"/problems/idempotency-answer\",\"title\":\"Conflict\",\"status\":409,\"detail\":\"this was carried \
         out and answered with {}; the answer was too large to be kept\"}}",
        answer.status
    );
    let kind = HeaderValue::from_static(api::routes::PROBLEM);
    Answer {
        status: 409,
        fields: vec![(axum::http::header::CONTENT_TYPE, kind)],
        body: Bytes::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key { who: "token a".into(), key: name.into() }
    }

    fn answer(bytes: usize) -> Answer {
        Answer { status: 200, fields: Vec::new(), body: Bytes::from(vec![b'x'; bytes]) }
    }

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn the_first_is_carried_out_and_the_others_have_its_answer() {
        let mut memory = Memory::default();
        assert_eq!(memory.begin(&key("k"), [1; 32], NOW), Began::First);
        assert_eq!(memory.begin(&key("k"), [1; 32], NOW), Began::UnderWay);
        assert_eq!(memory.begin(&key("k"), [2; 32], NOW), Began::Other);
        memory.end(&key("k"), Some(answer(3)), NOW);
        assert_eq!(memory.begin(&key("k"), [1; 32], NOW), Began::Again(answer(3)));
        assert_eq!(memory.begin(&key("k"), [2; 32], NOW), Began::Other);
        let theirs = Key { who: "token b".into(), ..key("k") };
        assert_eq!(memory.begin(&theirs, [2; 32], NOW), Began::First, "keys are everybody's own");
        memory.end(&theirs, None, NOW);
        assert_eq!(memory.begin(&theirs, [3; 32], NOW), Began::First, "nothing was carried out");
        assert_eq!(memory.begin(&key("k"), [9; 32], LIFE), Began::First, "a day later");
    }

    #[test]
    fn it_is_bounded_in_number_and_bytes_and_what_is_under_way_stays() {
        let mut memory = Memory::default();
        memory.begin(&key("first"), [0; 32], NOW);
        for n in 0..2 * MOST {
            let key = key(&n.to_string());
            assert_eq!(memory.begin(&key, [0; 32], NOW), Began::First);
            memory.end(&key, Some(answer(100)), NOW);
            assert!(memory.all.len() <= MOST && memory.bytes == 100 * memory.done.len());
        }
        assert_eq!(memory.begin(&key("first"), [0; 32], NOW), Began::UnderWay);
        for n in 0..40 {
            let key = key(&format!("large {n}"));
            memory.begin(&key, [0; 32], NOW);
            memory.end(&key, Some(answer(ANSWER)), NOW);
            assert!(memory.bytes <= BYTES);
        }
        let key = key("too large");
        memory.begin(&key, [0; 32], NOW);
        memory.end(&key, Some(answer(ANSWER + 1)), NOW);
        let Began::Again(kept) = memory.begin(&key, [0; 32], NOW) else { panic!("not kept") };
        let problem: api::types::Problem = serde_json::from_slice(&kept.body).unwrap();
        assert!(kept.status == 409 && problem.detail.contains("200"), "{problem:?}");
    }

    #[test]
    fn when_all_are_under_way_no_more_begin() {
        let mut memory = Memory::default();
        for n in 0..MOST {
            assert_eq!(memory.begin(&key(&n.to_string()), [0; 32], NOW), Began::First);
        }
        assert_eq!(memory.begin(&key("more"), [0; 32], NOW), Began::Full);
        memory.end(&key("7"), Some(answer(1)), NOW);
        assert_eq!(memory.begin(&key("more"), [0; 32], NOW), Began::First);
    }
}
