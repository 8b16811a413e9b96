//! What our cookies say: a word for each pool that has given the client a server, made with a secret.
//!
//! Who has no secret can neither make a word nor learn from one which server it means. A word begins with letters that
//! tell its pool to whoever has the secret, so that a pool replaces its own word and leaves those of others. It knows no
//! header and draws no secret.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher128};

/// Bytes of a word.
pub const WORD: usize = 22;

/// Bytes of it that tell its pool.
const TAG: usize = 6;

/// Words of one cookie at most: the oldest goes first.
pub const MOST: usize = 8;

/// Between words.
const BETWEEN: u8 = b'.';

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A word: 22 letters.
pub type Word = [u8; WORD];

/// What words are made with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl Secret {
    /// From bytes that nobody else knows.
    pub fn new(bytes: [u8; 16]) -> Secret {
        Secret(bytes)
    }

    /// The word of a server in a pool, or in what services share.
    pub fn word(&self, pool: &str, server: &str) -> Word {
        let mut word = [0; WORD];
        word[..TAG].copy_from_slice(&self.tag(pool));
        let mut hasher = self.hasher(b's');
        hasher.write(&(pool.len() as u64).to_be_bytes());
        hasher.write(pool.as_bytes());
        hasher.write(server.as_bytes());
        write(hasher.finish128().as_u128(), &mut word[TAG..]);
        word
    }

    /// What the words of a pool begin with.
    fn tag(&self, pool: &str) -> [u8; TAG] {
        let mut tag = [0; TAG];
        let mut hasher = self.hasher(b'p');
        hasher.write(pool.as_bytes());
        write(hasher.finish128().as_u128(), &mut tag);
        tag
    }

    fn hasher(&self, purpose: u8) -> SipHasher128 {
        let mut hasher = SipHasher128::new_with_key(&self.0);
        hasher.write(&[purpose]);
        hasher
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Secret")
    }
}

/// The secrets in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// New words are made with it.
    pub current: Secret,
    /// Words made with it are still understood.
    pub previous: Option<Secret>,
}

impl Default for Secrets {
    /// One that nobody else has and that nobody will have again.
    fn default() -> Secrets {
        let half = || RandomState::new().build_hasher().finish().to_be_bytes();
        let (mut bytes, halves) = ([0; 16], [half(), half()]);
        bytes[..8].copy_from_slice(&halves[0]);
        bytes[8..].copy_from_slice(&halves[1]);
        Secrets { current: Secret(bytes), previous: None }
    }
}

/// With what a word was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Made {
    /// The secret in force.
    Now,
    /// The one before.
    Before,
    /// None, but the key of older installations, which everybody knows. Understood for one release.
    Unkeyed,
}

impl Secrets {
    /// The words of a server, the one for new cookies first.
    pub fn words(&self, pool: &str, server: &str) -> impl Iterator<Item = (Word, Made)> {
        let before = self.previous.map(|secret| (secret.word(pool, server), Made::Before));
        let now = (self.current.word(pool, server), Made::Now);
        [now].into_iter().chain(before).chain([(unkeyed(pool, server), Made::Unkeyed)])
    }

    /// Whether a word is of this pool: of any server, here or not.
    pub fn are_of(&self, pool: &str, word: &Word) -> bool {
        let secrets = [Some(self.current), self.previous];
        secrets.into_iter().flatten().any(|secret| word.starts_with(&secret.tag(pool)))
    }
}

/// The words of a cookie's value; what is none is left out.
pub fn words(value: &[u8]) -> impl Iterator<Item = Word> {
    let parts = value.split(|byte| *byte == BETWEEN);
    let words = parts.filter_map(|part| Word::try_from(part).ok());
    words.filter(|word| word.iter().all(|byte| LETTERS.contains(byte)))
}

/// The value of a cookie that has this word, and before it those of other pools.
pub fn value(others: impl Iterator<Item = Word>, word: Word) -> Vec<u8> {
    let others: Vec<Word> = others.filter(|other| *other != word).collect();
    let kept = others.iter().skip(others.len().saturating_sub(MOST - 1));
    let all: Vec<&[u8]> = kept.chain([&word]).map(|word| &word[..]).collect();
    all.join(&BETWEEN)
}

/// A word under the key of older installations, which everybody knows.
fn unkeyed(pool: &str, server: &str) -> Word {
    let half = |tag: u8| {
        let mut hasher = SipHasher24::new_with_key(b"steelyard-cookie");
        for text in [pool, "/", server] {
            hasher.write(text.as_bytes());
        }
        hasher.write(&[tag]);
        u128::from(hasher.finish())
    };
    let mut word = [0; WORD];
    write(half(0) << 64 | half(1), &mut word);
    word
}

/// As many letters as there is room for.
fn write(mut number: u128, out: &mut [u8]) {
    for letter in out {
        *letter = LETTERS[(number & 63) as usize];
        number >>= 6;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret::new([byte; 16])
    }

    #[test]
    fn words_differ_by_secret_pool_and_server_and_are_the_same_in_every_process() {
        let mut seen = BTreeSet::new();
        for byte in 0..4 {
            for pool in ["web", "api", "w"] {
                for server in ["a", "b", "10.0.0.1-80", "eba"] {
                    assert!(seen.insert(secret(byte).word(pool, server)), "{pool} {server}");
                }
            }
        }
        assert!(seen.iter().flatten().all(|byte| LETTERS.contains(byte)));
        // Part of the contract: members with the same secret agree on it.
        assert_eq!(&secret(7).word("web", "a"), b"_hE6X0VfZlbj2J4OQ72ZIk");
        assert_ne!(Secrets::default(), Secrets::default());
        assert!(!format!("{:?}", Secrets::default()).contains(|c: char| c.is_ascii_digit()));
    }

    #[test]
    fn words_of_the_secret_before_and_without_a_secret_are_understood() {
        let secrets = Secrets { current: secret(2), previous: Some(secret(1)) };
        let words: Vec<_> = secrets.words("web", "a").collect();
        assert_eq!(
            words.iter().map(|(_, made)| *made).collect::<Vec<_>>(),
            [Made::Now, Made::Before, Made::Unkeyed]
        );
        assert_eq!(words[1].0, secret(1).word("web", "a"));
        // As clients have it from older installations.
        assert_eq!(&words[2].0, b"xTPaBdqq1hmsrUPySMRQ-D");
        for (word, made) in &words {
            assert_eq!(secrets.are_of("web", word), *made != Made::Unkeyed);
            assert!(!secrets.are_of("api", word));
        }
        assert!(secrets.are_of("web", &secret(1).word("web", "gone")));
        assert!(!secrets.are_of("web", &secret(3).word("web", "a")), "somebody else's");
    }

    #[test]
    fn a_cookie_keeps_the_words_of_other_pools_and_stays_small() {
        let of = |pool: usize| secret(1).word(&format!("p{pool}"), "a");
        let mut cookie = Vec::new();
        for pool in 0..20 {
            let own = Secrets { current: secret(1), previous: None };
            let name = format!("p{pool}");
            let others = words(&cookie).filter(|word| !own.are_of(&name, word));
            cookie = value(others, of(pool));
            let kept: Vec<Word> = words(&cookie).collect();
            let expected: Vec<Word> = (pool.saturating_sub(MOST - 1)..=pool).map(of).collect();
            assert_eq!(kept, expected);
        }
        assert!(cookie.len() < 200);
        // What is no word of anybody goes back to nobody.
        let odd = [&b"x\r\nSet-Cookie: a=b."[..], &of(1), b".AAAAAAAAAAAAAAAAAAAAA;"].concat();
        assert_eq!(value(words(&odd), of(2)), [&of(1)[..], b".", &of(2)].concat());
        assert_eq!(value([of(2)].into_iter(), of(2)), of(2));
    }
}
