//! A token in compact form (RFC 7515 §7.1): its header is read, its signature decoded, its payload left as it is.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::algorithm::JwtAlgorithm;
use super::json_object::parse_object;
use super::refusal::JwtRefusal;

/// Bytes of a token: one that names two hundred groups has six thousand.
pub const MAX_TOKEN_BYTES: usize = 16 * 1_024;

#[derive(Debug)]
pub struct CompactToken<'t> {
    pub algorithm: JwtAlgorithm,
    pub key_id: Option<String>,
    /// What is signed.
    pub signed: &'t [u8],
    payload: &'t [u8],
    pub signature: Vec<u8>,
}

impl<'t> CompactToken<'t> {
    /// # Errors
    /// It is no such token, or needs more than we understand.
    pub fn parse(token: &'t [u8]) -> Result<CompactToken<'t>, JwtRefusal> {
        let malformed = JwtRefusal::Malformed;
        if token.len() > MAX_TOKEN_BYTES {
            return Err(malformed);
        }
        let mut parts = token.splitn(3, |byte| *byte == b'.');
        let header = parts.next().ok_or(malformed)?;
        let payload = parts.next().ok_or(malformed)?;
        // A dot in it, as encrypted tokens have, is no digit of Base64.
        let signature = parts.next().ok_or(malformed)?;
        let signed = token.get(..header.len() + 1 + payload.len()).ok_or(malformed)?;
        let header = decode_object(header).ok_or(malformed)?;
        // Keys that a header brings along or points to (`jwk`, `jku`, `x5c`, `x5u`) are never looked at.
        let algorithm = header.get("alg").and_then(Value::as_str).ok_or(malformed)?;
        let algorithm = JwtAlgorithm::from_name(algorithm).ok_or(JwtRefusal::Algorithm)?;
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err(malformed),
        };
        // None of the extensions is understood (RFC 7515 §4.1.11).
        let is_nested = || header.get("cty").and_then(Value::as_str).is_some_and(is_jwt_type);
        if header.contains_key("crit") || is_nested() {
            return Err(malformed);
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| malformed)?;
        Ok(CompactToken { algorithm, key_id, signed, payload, signature })
    }

    /// The claims. Their signature is checked before.
    pub fn claims(&self) -> Option<Map<String, Value>> {
        decode_object(self.payload)
    }
}

/// The content is a token again (RFC 7519 §5.2).
fn is_jwt_type(kind: &str) -> bool {
    let kind = kind
        .get(..12)
        .filter(|start| start.eq_ignore_ascii_case("application/"))
        .map_or(kind, |start| kind.get(start.len()..).unwrap_or_default());
    kind.eq_ignore_ascii_case("jwt")
}

fn decode_object(part: &[u8]) -> Option<Map<String, Value>> {
    parse_object(&URL_SAFE_NO_PAD.decode(part).ok()?)
}
