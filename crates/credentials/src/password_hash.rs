//! One hash of a password: its form, the limit of its cost, and the check of a password.
//!
//! A check takes milliseconds, so it must not run where others wait.

use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash as PhcHash;
use argon2::{Argon2, Params};
use bcrypt::HashParts;
use sha_crypt::ShaCrypt;
use thiserror::Error;

use crate::apr1_hash::{DIGEST_LENGTH, digest_text};

/// Largest cost of bcrypt: each step doubles the time. 15 takes about two seconds.
const MAX_BCRYPT_COST: u32 = 15;

/// Most rounds of SHA-crypt, some 0.3 s.
const MAX_SHA_ROUNDS: u32 = 500_000;

/// Most memory of argon2 in KiB: two checks at a time stay within half a GiB.
const MAX_ARGON2_KIB: u32 = 256 * 1024;

/// Most memory times passes of argon2 in KiB, some two seconds.
const MAX_ARGON2_WORK_KIB: u64 = 1024 * 1024;

/// Longest salt of `$apr1$`.
const MAX_APR1_SALT: usize = 8;

/// The hash of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordHash {
    Bcrypt(String),
    Argon2(String),
    ShaCrypt(String),
    Apr1 { salt: String, digest: String },
}

/// Why a hash cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PasswordHashError {
    #[error(
        "its password has an unknown form; expected bcrypt (`$2y$`), argon2 (`$argon2id$`), \
         SHA-crypt (`$5$`, `$6$`) or `$apr1$`, as `htpasswd -B` writes them"
    )]
    UnknownForm,
    #[error("its hash is incomplete or malformed")]
    Malformed,
    #[error("its hash costs too much: {found}; expected {expected}")]
    TooCostly { found: String, expected: String },
}

impl PasswordHash {
    /// Reads a hash as password files have it.
    ///
    /// # Errors
    /// Another form, a malformed one, or one that costs too much.
    pub fn parse(text: &str) -> Result<PasswordHash, PasswordHashError> {
        let begins = |all: &[&str]| all.iter().any(|prefix| text.starts_with(prefix));
        if begins(&["$2y$", "$2b$", "$2a$"]) {
            return parse_bcrypt(text);
        }
        if begins(&["$argon2id$", "$argon2i$", "$argon2d$"]) {
            return parse_argon2(text);
        }
        if begins(&["$5$", "$6$"]) {
            return parse_sha_crypt(text);
        }
        match text.strip_prefix("$apr1$") {
            Some(rest) => parse_apr1(rest),
            None => Err(PasswordHashError::UnknownForm),
        }
    }

    /// Whether this is the password.
    pub fn matches(&self, password: &[u8]) -> bool {
        match self {
            PasswordHash::Bcrypt(hash) => bcrypt::verify(password, hash).unwrap_or(false),
            PasswordHash::Argon2(hash) => {
                Argon2::default().verify_password(password, hash.as_str()).is_ok()
            }
            PasswordHash::ShaCrypt(hash) => {
                ShaCrypt::default().verify_password(password, hash.as_str()).is_ok()
            }
            PasswordHash::Apr1 { salt, digest } => {
                is_equal(digest_text(password, salt.as_bytes()).as_bytes(), digest.as_bytes())
            }
        }
    }
}

fn parse_bcrypt(text: &str) -> Result<PasswordHash, PasswordHashError> {
    let parts: HashParts = text.parse().map_err(|_| PasswordHashError::Malformed)?;
    let cost = parts.get_cost();
    if cost > MAX_BCRYPT_COST {
        return Err(too_costly(&format!("a cost of {cost}"), MAX_BCRYPT_COST.into(), ""));
    }
    Ok(PasswordHash::Bcrypt(text.to_owned()))
}

fn parse_argon2(text: &str) -> Result<PasswordHash, PasswordHashError> {
    let hash = PhcHash::new(text).map_err(|_| PasswordHashError::Malformed)?;
    let params = Params::try_from(&hash).map_err(|_| PasswordHashError::Malformed)?;
    if hash.salt.is_none() || hash.hash.is_none() {
        return Err(PasswordHashError::Malformed);
    }
    let kib = params.m_cost();
    if kib > MAX_ARGON2_KIB {
        return Err(too_costly(&format!("{kib} KiB of memory"), MAX_ARGON2_KIB.into(), " KiB"));
    }
    let work = u64::from(kib) * u64::from(params.t_cost());
    if work > MAX_ARGON2_WORK_KIB {
        let found = format!("{} passes over {kib} KiB", params.t_cost());
        return Err(too_costly(&found, MAX_ARGON2_WORK_KIB, " KiB in all"));
    }
    Ok(PasswordHash::Argon2(text.to_owned()))
}

fn parse_sha_crypt(text: &str) -> Result<PasswordHash, PasswordHashError> {
    let length = if text.starts_with("$5$") { 43 } else { 86 };
    let fields: Vec<&str> = text.split('$').skip(2).collect();
    let (first, last) = match *fields.as_slice() {
        [salt, digest] => (salt, digest),
        [rounds, salt, digest] => {
            let rounds: u32 = rounds
                .strip_prefix("rounds=")
                .and_then(|rounds| rounds.parse().ok())
                .ok_or(PasswordHashError::Malformed)?;
            if rounds > MAX_SHA_ROUNDS {
                return Err(too_costly(&format!("{rounds} rounds"), MAX_SHA_ROUNDS.into(), ""));
            }
            // The form has no fewer.
            if rounds < 1_000 {
                return Err(PasswordHashError::Malformed);
            }
            (salt, digest)
        }
        _ => return Err(PasswordHashError::Malformed),
    };
    let is_whole = (1..=16).contains(&first.len()) && last.len() == length;
    if !is_whole || !fields.iter().all(|field| field.is_ascii()) {
        return Err(PasswordHashError::Malformed);
    }
    Ok(PasswordHash::ShaCrypt(text.to_owned()))
}

fn parse_apr1(rest: &str) -> Result<PasswordHash, PasswordHashError> {
    let parts = rest.split_once('$').ok_or(PasswordHashError::Malformed)?;
    let salt = parts.0.to_owned();
    let digest = parts.1.to_owned();
    if salt.is_empty() || salt.len() > MAX_APR1_SALT || digest.len() != DIGEST_LENGTH {
        return Err(PasswordHashError::Malformed);
    }
    Ok(PasswordHash::Apr1 { salt, digest })
}

fn too_costly(found: &str, limit: u64, unit: &str) -> PasswordHashError {
    let expected = format!("at most {limit}{unit}");
    PasswordHashError::TooCostly { found: found.to_owned(), expected }
}

/// Compares without telling by time where two differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(one, other).is_ok()
}
