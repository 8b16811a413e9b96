//! A JWK Set (RFC 7517): the keys with which signatures are checked. Keys of other kinds and uses are passed over.
//!
//! Each key is made ready once for each algorithm it may be used with. So a token cannot choose to have a public key
//! taken for a secret (RFC 8725 §2.1).

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ED25519, ParsedPublicKey, RsaPublicKeyComponents};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::algorithm::{CurveAlgorithm, JwtAlgorithm};
use super::json_object::parse_object;

/// Bytes of a set.
pub const MAX_SET_BYTES: u64 = 1 << 20;

/// Keys of a set: an issuer has one or two in use.
const MAX_KEYS: usize = 100;

/// Keys that one token is tried with, where ids do not tell which one it is. More would let a token cost a multiple.
const MAX_TRIES: usize = 4;

/// Why a set cannot be used. It shows nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    #[error("it is no JWK Set: JSON with a list `keys`, no name twice")]
    NoSet,
    #[error("it has more than {MAX_KEYS} keys")]
    TooMany,
    #[error("none of its keys can check a signature of the accepted algorithms")]
    NoKey,
}

#[derive(Debug, Default)]
pub struct JsonWebKeySet {
    keys: Vec<VerificationKey>,
}

/// A key for one algorithm.
#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    algorithm: JwtAlgorithm,
    material: KeyMaterial,
}

#[derive(Debug)]
enum KeyMaterial {
    Public(ParsedPublicKey),
    Secret(Box<hmac::Key>),
}

/// What came of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureCheck {
    Right,
    Wrong,
    /// No key has this id and may be used with the algorithm.
    NoKey,
}

impl JsonWebKeySet {
    /// The keys of this text that may be used with one of the algorithms.
    ///
    /// # Errors
    /// It is no set, or has no such key.
    pub fn parse(text: &[u8], accepted: &[JwtAlgorithm]) -> Result<JsonWebKeySet, KeySetError> {
        let set = parse_object(text).ok_or(KeySetError::NoSet)?;
        let list = set.get("keys").and_then(Value::as_array).ok_or(KeySetError::NoSet)?;
        if list.len() > MAX_KEYS {
            return Err(KeySetError::TooMany);
        }
        let mut keys = Vec::new();
        for key in list.iter().filter_map(Value::as_object).filter(|key| is_for_signatures(key)) {
            let usable = accepted.iter().filter(|algorithm| may_use(key, **algorithm));
            keys.extend(usable.filter_map(|algorithm| {
                let id = key.get("kid").and_then(Value::as_str).map(str::to_owned);
                let material = KeyMaterial::read(key, *algorithm)?;
                Some(VerificationKey { id, algorithm: *algorithm, material })
            }));
        }
        match keys.is_empty() {
            true => Err(KeySetError::NoKey),
            false => Ok(JsonWebKeySet { keys }),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Checks a signature with the keys that may have made it.
    pub fn check(
        &self,
        algorithm: JwtAlgorithm,
        id: Option<&str>,
        signed: &[u8],
        signature: &[u8],
    ) -> SignatureCheck {
        let is_candidate = |key: &&VerificationKey| {
            let has_id = id.is_none() || key.id.is_none() || key.id.as_deref() == id;
            key.algorithm == algorithm && has_id
        };
        let mut outcome = SignatureCheck::NoKey;
        for key in self.keys.iter().filter(is_candidate).take(MAX_TRIES) {
            if key.material.is_right(signed, signature) {
                return SignatureCheck::Right;
            }
            outcome = SignatureCheck::Wrong;
        }
        outcome
    }
}

impl KeyMaterial {
    /// The key as this algorithm needs it; `None`: it is of another kind, or no good.
    fn read(key: &Map<String, Value>, algorithm: JwtAlgorithm) -> Option<KeyMaterial> {
        let kind = key.get("kty").and_then(Value::as_str)?;
        let bytes = |name: &str| {
            let text = key.get(name).and_then(Value::as_str)?;
            URL_SAFE_NO_PAD.decode(text).ok()
        };
        let curve = key.get("crv").and_then(Value::as_str);
        if let Some(hash) = algorithm.hmac() {
            // A shorter one could be guessed (RFC 7518 §3.2).
            let secret = bytes("k").filter(|secret| secret.len() >= hash.tag_len())?;
            return (kind == "oct")
                .then(|| KeyMaterial::Secret(Box::new(hmac::Key::new(hash, &secret))));
        }
        if let Some(parameters) = algorithm.rsa() {
            let n = number(bytes("n")?);
            let is_usable = kind == "RSA" && (2048..=8192).contains(&bits(&n));
            let components = RsaPublicKeyComponents { n, e: number(bytes("e")?) };
            let made = components.to_parsed_public_key(parameters).ok().filter(|_| is_usable)?;
            // Only this way its exponent is checked.
            let checked = ParsedPublicKey::new(parameters, made.as_ref()).ok();
            return checked.map(KeyMaterial::Public);
        }
        if let Some(CurveAlgorithm { curve: wanted, coordinate_bytes, algorithm }) =
            algorithm.ecdsa()
        {
            let coordinate = |name: &str| bytes(name).filter(|it| it.len() == coordinate_bytes);
            let point = [vec![4], coordinate("x")?, coordinate("y")?].concat();
            let is_usable = kind == "EC" && curve == Some(wanted);
            // It checks that the point is on the curve.
            let made = is_usable.then(|| ParsedPublicKey::new(algorithm, point).ok());
            return made.flatten().map(KeyMaterial::Public);
        }
        let is_usable = kind == "OKP" && curve == Some("Ed25519");
        let point = bytes("x").filter(|x| is_usable && x.len() == 32)?;
        ParsedPublicKey::new(&ED25519, point).ok().map(KeyMaterial::Public)
    }

    fn is_right(&self, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            KeyMaterial::Public(key) => key.verify_sig(signed, signature).is_ok(),
            KeyMaterial::Secret(key) => hmac::verify(key, signed, signature).is_ok(),
        }
    }
}

/// What the key says it is for (RFC 7517 §4.2, §4.3).
fn is_for_signatures(key: &Map<String, Value>) -> bool {
    let is_verifier = |all: &Vec<Value>| all.iter().any(|one| one.as_str() == Some("verify"));
    key.get("use").is_none_or(|purpose| purpose.as_str() == Some("sig"))
        && key.get("key_ops").is_none_or(|all| all.as_array().is_some_and(is_verifier))
}

fn may_use(key: &Map<String, Value>, algorithm: JwtAlgorithm) -> bool {
    key.get("alg").is_none_or(|named| {
        named.as_str().and_then(JwtAlgorithm::from_name).is_some_and(|named| named == algorithm)
    })
}

/// Without zeros in front, which some issuers write.
fn number(bytes: Vec<u8>) -> Vec<u8> {
    let begin = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    bytes.get(begin..).unwrap_or_default().to_vec()
}

fn bits(number: &[u8]) -> usize {
    let unused = number.first().map_or(0, |first| first.leading_zeros() as usize);
    number.len() * 8 - unused
}
