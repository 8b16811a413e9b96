//! Shared secrets of a heartbeat: parses their file, signs and verifies with them. It opens no file.
//!
//! One line for each key: `ID SECRET`. The first key signs; every key is accepted. So a secret is replaced without a
//! gap: add the new one as second on both members, move it to the first place on both, then remove the old one.

use std::fmt;

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign, verify};

/// Keys in one file: the signing key, and one more that is accepted during a replacement.
pub const MOST: usize = 2;
/// Characters of a secret: at least as many as hold 32 random bytes in any usual encoding, and at most one line.
pub const LENGTH: std::ops::RangeInclusive<usize> = 32..=512;
/// Bytes of a signature (HMAC-SHA256, RFC 2104).
pub const TAG: usize = model::capacity::replication_traffic::SIGNATURE_BYTES;

/// A secret with the number that packets name it by.
#[derive(Clone)]
struct NumberedKey {
    id: u8,
    key: Key,
}

/// The keys of a member. The secrets cannot be read back.
#[derive(Clone)]
pub struct ClusterKeys {
    keys: Vec<NumberedKey>,
}

impl fmt::Debug for ClusterKeys {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<u8> = self.ids().collect();
        write!(to, "keys {ids:?}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// A line that cannot be read. The message never repeats the secret.
    #[error(
        "line {line}: {found}; expected `ID SECRET`, an ID from 1 to 255 and 32 to 512 visible characters without \
         blanks, such as `openssl rand -hex 32` writes"
    )]
    Line {
        /// The line's number, counted from 1.
        line: usize,
        found: &'static str,
    },
    /// Two keys have the same number.
    #[error("key {0} is there twice; expected another number for the other key")]
    Twice(u8),
    #[error("there are {0} keys; expected one, or two while they are exchanged")]
    TooMany(usize),
    #[error("there is no key; expected a line `ID SECRET`")]
    None,
}

impl ClusterKeys {
    /// Parses the file's text. Blank lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// See `KeysError`.
    pub fn parse(text: &str) -> Result<ClusterKeys, KeysError> {
        let mut keys: Vec<NumberedKey> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line_number = at + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |found| KeysError::Line { line: line_number, found };
            let mut words = line.split_whitespace();
            let id = words.next().unwrap_or_default();
            let secret = words.next();
            let id = id.parse::<u8>().ok().filter(|id| *id > 0);
            let id = id.ok_or_else(|| wrong("it does not begin with a number from 1 to 255"))?;
            let secret = secret.ok_or_else(|| wrong("there is no secret"))?;
            if words.next().is_some() {
                return Err(wrong("there is more than one secret"));
            }
            if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(wrong("the secret has characters that cannot be seen"));
            }
            if !LENGTH.contains(&secret.len()) {
                return Err(wrong("the secret is too short or too long"));
            }
            if keys.iter().any(|known| known.id == id) {
                return Err(KeysError::Twice(id));
            }
            keys.push(NumberedKey { id, key: Key::new(HMAC_SHA256, secret.as_bytes()) });
        }
        match keys.len() {
            0 => Err(KeysError::None),
            1..=MOST => Ok(ClusterKeys { keys }),
            more => Err(KeysError::TooMany(more)),
        }
    }

    /// The numbers of the keys, the signing key first.
    pub fn ids(&self) -> impl Iterator<Item = u8> + '_ {
        self.keys.iter().map(|known| known.id)
    }

    /// The number of the key that signs.
    pub fn signer(&self) -> u8 {
        self.ids().next().unwrap_or(0)
    }

    /// Whether there is a key of this number.
    pub fn contains(&self, id: u8) -> bool {
        self.ids().any(|known| known == id)
    }

    /// Appends the first key's signature of the bytes.
    pub fn sign(&self, bytes: &mut Vec<u8>) {
        let Some(first) = self.keys.first() else { return };
        let tag = sign(&first.key, bytes);
        bytes.extend_from_slice(tag.as_ref());
    }

    /// 32 bytes that only a holder of this key can derive from `parts`; `None` without such a key.
    pub fn derive(&self, id: u8, parts: &[&[u8]]) -> Option<[u8; TAG]> {
        let known = self.keys.iter().find(|known| known.id == id)?;
        let made = sign(&known.key, &parts.concat());
        made.as_ref().first_chunk::<TAG>().copied()
    }

    /// Whether the signature was made with the key of this number. The comparison takes constant time.
    pub fn verify(&self, id: u8, bytes: &[u8], tag: &[u8]) -> bool {
        let known = self.keys.iter().find(|known| known.id == id);
        known.is_some_and(|known| verify(&known.key, bytes, tag).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn the_first_signs_and_both_are_accepted() {
        let old = ClusterKeys::parse(&format!("# ours\n\n 1 {ONE} \n2 {OTHER}\n")).unwrap();
        let new = ClusterKeys::parse(&format!("2 {OTHER}\n1 {ONE}")).unwrap();
        let mut signed = b"beat".to_vec();
        old.sign(&mut signed);
        let (bytes, tag) = signed.split_at(4);
        assert_eq!((old.signer(), tag.len()), (1, TAG));
        assert!(new.verify(1, bytes, tag) && !new.verify(2, bytes, tag));
        assert!(!new.verify(1, b"beats", tag) && !new.verify(1, bytes, &tag[..TAG - 1]));
        assert_eq!(format!("{old:?}"), "keys [1, 2]", "no secret is ever shown");
    }

    #[test]
    fn invalid_key_files_are_rejected() {
        let short = format!("1 {}", &ONE[1..]);
        let rows = [
            ("", "there is no key"),
            (short.as_str(), "line 1: the secret is too short"),
            ("0 x", "line 1: it does not begin with a number"),
            ("# x\n7", "line 2: there is no secret"),
            (&format!("1 {ONE} {ONE}"), "more than one secret"),
            (&format!("1 {ONE}\n1 {OTHER}"), "key 1 is there twice"),
            (&format!("1 {ONE}\n2 {OTHER}\n3 {OTHER}"), "there are 3 keys"),
            (&format!("1 é{ONE}"), "cannot be seen"),
        ];
        for (text, says) in rows {
            let why = ClusterKeys::parse(text).unwrap_err().to_string();
            assert!(why.contains(says) && !why.contains(ONE), "{text}: {why}");
        }
    }
}
