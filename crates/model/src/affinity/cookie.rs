//! Tokens of affinity cookies: one for each pool that has assigned the client a server, created with a secret.
//!
//! Without the secret it is impossible to create a token or to learn which server a token means. A token starts with a
//! tag of its pool, so that a pool replaces its own token and leaves those of others. This module parses no header and
//! generates no secret.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher128};

/// Letters of a token: 6 of the tag and 16 of the server, 6 bits each.
pub const TOKEN_LEN: usize = 22;

/// Letters of the tag: 36 bits, so that two pools of one cookie practically never have the same tag.
const TAG_LEN: usize = 6;

/// Limit for the tokens of one cookie; the oldest is removed first. Bounds the cookie below 200 bytes.
pub const MAX_VALUE_LEN: usize = 8;

/// Neither a letter of a token nor a character that a cookie's value must quote (RFC 6265 §4.1.1).
const SEPARATOR: u8 = b'.';

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

pub type CookieToken = [u8; TOKEN_LEN];

/// The secret with which tokens are created.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AffinitySecret([u8; 16]);

impl AffinitySecret {
    /// From bytes that no one else knows.
    pub fn new(bytes: [u8; 16]) -> AffinitySecret {
        AffinitySecret(bytes)
    }

    /// The token of a server in a pool, or in the scope that services share.
    pub fn token(&self, pool: &str, server: &str) -> CookieToken {
        let mut word = [0; TOKEN_LEN];
        word[..TAG_LEN].copy_from_slice(&self.pool_tag(pool));
        let mut hasher = self.hasher(b's');
        hasher.write(&(pool.len() as u64).to_be_bytes());
        hasher.write(pool.as_bytes());
        hasher.write(server.as_bytes());
        encode_letters(hasher.finish128().as_u128(), &mut word[TAG_LEN..]);
        word
    }

    /// The tag that all tokens of a pool begin with.
    fn pool_tag(&self, pool: &str) -> [u8; TAG_LEN] {
        let mut tag = [0; TAG_LEN];
        let mut hasher = self.hasher(b'p');
        hasher.write(pool.as_bytes());
        encode_letters(hasher.finish128().as_u128(), &mut tag);
        tag
    }

    fn hasher(&self, purpose: u8) -> SipHasher128 {
        let mut hasher = SipHasher128::new_with_key(&self.0);
        hasher.write(&[purpose]);
        hasher
    }
}

impl fmt::Debug for AffinitySecret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Secret")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffinitySecrets {
    /// The secret of new tokens.
    pub current: AffinitySecret,
    /// The previous secret, whose tokens are still accepted.
    pub previous: Option<AffinitySecret>,
}

impl Default for AffinitySecrets {
    /// A random secret: unique to this process.
    fn default() -> AffinitySecrets {
        let half = || RandomState::new().build_hasher().finish().to_be_bytes();
        let mut bytes = [0; 16];
        let halves = [half(), half()];
        bytes[..8].copy_from_slice(&halves[0]);
        bytes[8..].copy_from_slice(&halves[1]);
        AffinitySecrets { current: AffinitySecret(bytes), previous: None }
    }
}

/// The secret with which a token was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CookieKeyAge {
    Current,
    Previous,
    /// No secret, but the public key of older installations. Accepted for one release.
    Unkeyed,
}

impl AffinitySecrets {
    /// The tokens of a server, the one for new cookies first.
    pub fn tokens(
        &self,
        pool: &str,
        server: &str,
    ) -> impl Iterator<Item = (CookieToken, CookieKeyAge)> {
        let before =
            self.previous.map(|secret| (secret.token(pool, server), CookieKeyAge::Previous));
        let now = (self.current.token(pool, server), CookieKeyAge::Current);
        [now]
            .into_iter()
            .chain(before)
            .chain([(unkeyed_token(pool, server), CookieKeyAge::Unkeyed)])
    }

    /// Whether a token belongs to this pool, for any server, including a removed one.
    pub fn is_token_of_pool(&self, pool: &str, word: &CookieToken) -> bool {
        let secrets = [Some(self.current), self.previous];
        secrets.into_iter().flatten().any(|secret| word.starts_with(&secret.pool_tag(pool)))
    }
}

/// The tokens of a cookie's value; other parts are skipped.
pub fn parse_tokens(value: &[u8]) -> impl Iterator<Item = CookieToken> {
    let parts = value.split(|byte| *byte == SEPARATOR);
    let words = parts.filter_map(|part| CookieToken::try_from(part).ok());
    words.filter(|word| word.iter().all(|byte| LETTERS.contains(byte)))
}

/// The value of a cookie with this token, after the tokens of other pools.
pub fn cookie_value(others: impl Iterator<Item = CookieToken>, word: CookieToken) -> Vec<u8> {
    let others: Vec<CookieToken> = others.filter(|other| *other != word).collect();
    let newest = others.iter().skip(others.len().saturating_sub(MAX_VALUE_LEN - 1));
    let all: Vec<&[u8]> = newest.chain([&word]).map(|word| &word[..]).collect();
    all.join(&SEPARATOR)
}

/// A token under the key of older installations, which is public.
fn unkeyed_token(pool: &str, server: &str) -> CookieToken {
    let half = |tag: u8| {
        let mut hasher = SipHasher24::new_with_key(b"steelyard-cookie");
        for text in [pool, "/", server] {
            hasher.write(text.as_bytes());
        }
        hasher.write(&[tag]);
        u128::from(hasher.finish())
    };
    let mut word = [0; TOKEN_LEN];
    encode_letters(half(0) << 64 | half(1), &mut word);
    word
}

/// Fills `out` with the letters of a number, six bits each.
fn encode_letters(mut number: u128, out: &mut [u8]) {
    for letter in out {
        *letter = LETTERS[(number & 63) as usize];
        number >>= 6;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn secret(byte: u8) -> AffinitySecret {
        AffinitySecret::new([byte; 16])
    }

    #[test]
    fn words_differ_by_secret_pool_and_server_and_are_the_same_in_every_process() {
        let mut seen = BTreeSet::new();
        for byte in 0..4 {
            for pool in ["web", "api", "w"] {
                for server in ["a", "b", "10.0.0.1-80", "eba"] {
                    assert!(seen.insert(secret(byte).token(pool, server)), "{pool} {server}");
                }
            }
        }
        assert!(seen.iter().flatten().all(|byte| LETTERS.contains(byte)));
        // Part of the contract: members with the same secret create the same tokens.
        assert_eq!(&secret(7).token("web", "a"), b"_hE6X0VfZlbj2J4OQ72ZIk");
        assert_ne!(AffinitySecrets::default(), AffinitySecrets::default());
        assert!(
            !format!("{:?}", AffinitySecrets::default()).contains(|c: char| c.is_ascii_digit())
        );
    }

    #[test]
    fn words_of_the_secret_before_and_without_a_secret_are_understood() {
        let secrets = AffinitySecrets { current: secret(2), previous: Some(secret(1)) };
        let words: Vec<_> = secrets.tokens("web", "a").collect();
        assert_eq!(
            words.iter().map(|(_, made)| *made).collect::<Vec<_>>(),
            [CookieKeyAge::Current, CookieKeyAge::Previous, CookieKeyAge::Unkeyed]
        );
        assert_eq!(words[1].0, secret(1).token("web", "a"));
        // As clients have it from older installations.
        assert_eq!(&words[2].0, b"xTPaBdqq1hmsrUPySMRQ-D");
        for (word, made) in &words {
            assert_eq!(secrets.is_token_of_pool("web", word), *made != CookieKeyAge::Unkeyed);
            assert!(!secrets.is_token_of_pool("api", word));
        }
        assert!(secrets.is_token_of_pool("web", &secret(1).token("web", "gone")));
        assert!(!secrets.is_token_of_pool("web", &secret(3).token("web", "a")), "somebody else's");
    }

    #[test]
    fn a_cookie_keeps_the_words_of_other_pools_and_stays_small() {
        let of = |pool: usize| secret(1).token(&format!("p{pool}"), "a");
        let mut cookie = Vec::new();
        for pool in 0..20 {
            let own = AffinitySecrets { current: secret(1), previous: None };
            let name = format!("p{pool}");
            let others = parse_tokens(&cookie).filter(|word| !own.is_token_of_pool(&name, word));
            cookie = cookie_value(others, of(pool));
            let tokens: Vec<CookieToken> = parse_tokens(&cookie).collect();
            let expected: Vec<CookieToken> =
                (pool.saturating_sub(MAX_VALUE_LEN - 1)..=pool).map(of).collect();
            assert_eq!(tokens, expected);
        }
        assert!(cookie.len() < 200);
        // Parts that are not tokens are never sent back to the client.
        let odd = [&b"x\r\nSet-Cookie: a=b."[..], &of(1), b".AAAAAAAAAAAAAAAAAAAAA;"].concat();
        assert_eq!(cookie_value(parse_tokens(&odd), of(2)), [&of(1)[..], b".", &of(2)].concat());
        assert_eq!(cookie_value([of(2)].into_iter(), of(2)), of(2));
    }
}
