//! The `$apr1$` hash of Apache's `htpasswd`: a thousand rounds of MD5 over password and salt. It compares nothing.

use md5::{Digest, Md5};

/// The characters of the digest, six bits each.
const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The digest's bytes in the order in which the characters have them, three for four characters.
const ORDER: [[usize; 3]; 5] = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]];

/// The byte that is left for the last two characters.
const LAST: usize = 11;

const ROUNDS: usize = 1_000;

/// Characters of a digest.
pub const DIGEST_LENGTH: usize = 22;

/// The characters of the digest of a password with this salt.
pub fn digest_text(password: &[u8], salt: &[u8]) -> String {
    let digest = digest(password, salt);
    let byte = |at: usize| u32::from(digest.get(at).copied().unwrap_or_default());
    let mut text = String::with_capacity(DIGEST_LENGTH);
    for [high, middle, low] in ORDER {
        push_sextets(byte(high) << 16 | byte(middle) << 8 | byte(low), 4, &mut text);
    }
    push_sextets(byte(LAST), 2, &mut text);
    text
}

fn digest(password: &[u8], salt: &[u8]) -> [u8; 16] {
    let inner = hash(&[password, salt, password]);
    let mut whole = Md5::new();
    for part in [password, b"$apr1$", salt] {
        whole.update(part);
    }
    let mut left = password.len();
    while left > 0 {
        whole.update(inner.get(..left.min(inner.len())).unwrap_or_default());
        left = left.saturating_sub(inner.len());
    }
    let first = password.get(..1).unwrap_or_default();
    let mut bits = password.len();
    while bits > 0 {
        whole.update(if bits & 1 == 1 { &b"\0"[..] } else { first });
        bits >>= 1;
    }
    let mut digest: [u8; 16] = whole.finalize().into();
    for round in 0..ROUNDS {
        let odd = round % 2 == 1;
        let salted: &[u8] = if round % 3 == 0 { b"" } else { salt };
        let repeated: &[u8] = if round % 7 == 0 { b"" } else { password };
        digest = match odd {
            true => hash(&[password, salted, repeated, &digest]),
            false => hash(&[&digest, salted, repeated, password]),
        };
    }
    digest
}

fn hash(parts: &[&[u8]]) -> [u8; 16] {
    let mut digest = Md5::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().into()
}

/// Appends so many characters, the lowest six bits first.
fn push_sextets(mut bits: u32, count: usize, to: &mut String) {
    for _ in 0..count {
        let at = (bits & 0x3f) as usize;
        to.extend(ALPHABET.get(at).map(|byte| char::from(*byte)));
        bits >>= 6;
    }
}
