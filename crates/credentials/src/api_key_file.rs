//! Files of API keys, one `name:digest` a line: the digest is the SHA-256 of the key in hexadecimal digits.
//!
//! A key is drawn at random, so one round of a fast hash is enough: nobody can try them all.

use std::collections::HashMap;

use aws_lc_rs::digest::{SHA256, digest};

use crate::password_file::{CredentialFileError, CredentialLine, credential_lines};

/// Bytes of a key.
pub const MAX_KEY_BYTES: usize = 1_024;

/// The holders of keys by the digests of these.
#[derive(Clone, Debug, Default)]
pub struct ApiKeyFile {
    holders: HashMap<[u8; 32], String>,
}

impl ApiKeyFile {
    /// # Errors
    /// The first line that cannot be used.
    pub fn parse(text: &str) -> Result<ApiKeyFile, CredentialFileError> {
        let mut file = ApiKeyFile::default();
        for entry in credential_lines(text) {
            let CredentialLine { line, name, secret } = entry?;
            let key = parse_digest(secret).ok_or(CredentialFileError::Digest { line })?;
            // One name may have several keys, so that one can be replaced without a gap.
            if file.holders.insert(key, name.to_owned()).is_some() {
                return Err(CredentialFileError::DigestTwice { line });
            }
        }
        match file.holders.is_empty() {
            true => Err(CredentialFileError::Empty),
            false => Ok(file),
        }
    }

    /// The holder of a key. What is looked up is a digest, so the time of the search says nothing about keys.
    pub fn find_holder(&self, key: &[u8]) -> Option<&str> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return None;
        }
        let digest: [u8; 32] = digest(&SHA256, key).as_ref().try_into().ok()?;
        self.holders.get(&digest).map(String::as_str)
    }
}

fn parse_digest(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut out = [0; 32];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16);
        let high = value(*pair.first()?)?;
        let low = value(*pair.get(1)?)?;
        *byte = u8::try_from(high << 4 | low).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `abc` (FIPS 180-2, B.1).
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_key_is_found_by_its_digest_alone() {
        let upper = ABC.to_ascii_uppercase();
        for text in [format!("# keys\n\nci:{ABC}\n"), format!("ci: {upper} :rotated in May\r\n")] {
            let file = ApiKeyFile::parse(&text).unwrap();
            assert_eq!(file.find_holder(b"abc"), Some("ci"));
            for other in [&b""[..], b"ab", b"abcd", ABC.as_bytes(), &[b'a'; MAX_KEY_BYTES + 1]] {
                assert_eq!(file.find_holder(other), None);
            }
        }
    }

    #[test]
    fn what_is_no_digest_is_refused_with_its_line() {
        let other = ABC.replace("ba78", "ba79");
        let two = ApiKeyFile::parse(&format!("ci:{ABC}\nci:{other}")).unwrap();
        assert_eq!(two.find_holder(b"abc"), Some("ci"), "one name, two keys");
        let short = &ABC[1..];
        for (text, error) in [
            ("ci".to_owned(), CredentialFileError::NoColon { line: 1 }),
            ("\nci:secret".to_owned(), CredentialFileError::Digest { line: 2 }),
            (format!("ci:{short}"), CredentialFileError::Digest { line: 1 }),
            (format!("ci:{short}g"), CredentialFileError::Digest { line: 1 }),
            (format!("a:{ABC}\nb:{ABC}"), CredentialFileError::DigestTwice { line: 2 }),
            ("# none\n".to_owned(), CredentialFileError::Empty),
        ] {
            assert_eq!(ApiKeyFile::parse(&text).unwrap_err(), error, "{text}");
        }
    }
}
