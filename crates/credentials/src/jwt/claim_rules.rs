//! What the claims of a token must say. Whoever calls tells the time.

use serde_json::{Map, Value};

use super::claim_path::{ClaimPath, scalar_text};
use super::refusal::JwtRefusal;

#[derive(Clone, Debug)]
pub struct ClaimRules {
    /// One of them must have issued the token.
    pub issuers: Vec<String>,
    /// The token must be for one of them; if there is none, it may name no audience (RFC 7519 §4.1.3).
    pub audiences: Vec<String>,
    pub required: Vec<ClaimCondition>,
    /// How far the clocks of the issuer and of this machine may differ.
    pub leeway_ms: u64,
}

/// A claim that must be there, with this value if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimCondition {
    pub path: ClaimPath,
    pub value: Option<String>,
}

impl ClaimRules {
    /// Until when the claims hold, in milliseconds since 1970.
    ///
    /// # Errors
    /// They do not hold now.
    pub fn check(&self, claims: &Map<String, Value>, now_ms: u64) -> Result<u64, JwtRefusal> {
        // Without an end a stolen token would count until its key is withdrawn.
        let end = claims.get("exp").ok_or(JwtRefusal::Claim)?;
        let until = date_ms(end).ok_or(JwtRefusal::Malformed)?.saturating_add(self.leeway_ms);
        if now_ms >= until {
            return Err(JwtRefusal::Expired);
        }
        if let Some(begin) = claims.get("nbf") {
            let begin = date_ms(begin).ok_or(JwtRefusal::Malformed)?;
            if now_ms.saturating_add(self.leeway_ms) < begin {
                return Err(JwtRefusal::NotYetValid);
            }
        }
        let issuer = claims.get("iss").and_then(Value::as_str);
        if !issuer.is_some_and(|issuer| self.issuers.iter().any(|known| known == issuer)) {
            return Err(JwtRefusal::Issuer);
        }
        if !self.is_for_us(claims.get("aud")) {
            return Err(JwtRefusal::Audience);
        }
        match self.required.iter().all(|condition| condition.is_met(claims)) {
            true => Ok(until),
            false => Err(JwtRefusal::Claim),
        }
    }

    fn is_for_us(&self, audience: Option<&Value>) -> bool {
        let is_own = |one: &str| self.audiences.iter().any(|own| own == one);
        match audience {
            None => self.audiences.is_empty(),
            Some(Value::String(one)) => is_own(one),
            Some(Value::Array(all)) => {
                all.iter().all(Value::is_string) && all.iter().filter_map(Value::as_str).any(is_own)
            }
            Some(_) => false,
        }
    }
}

impl ClaimCondition {
    /// Reads `name` or `name: value`.
    pub fn parse(text: &str) -> ClaimCondition {
        // Names may be URLs, with a colon but no blank behind it.
        match text.split_once(": ") {
            Some((path, value)) => {
                let value = Some(value.trim().to_owned());
                ClaimCondition { path: ClaimPath::new(path.trim()), value }
            }
            None => ClaimCondition { path: ClaimPath::new(text.trim()), value: None },
        }
    }

    fn is_met(&self, claims: &Map<String, Value>) -> bool {
        let Some(found) = self.path.find(claims) else { return false };
        let Some(wanted) = &self.value else { return true };
        let is_wanted = |value: &Value| scalar_text(value).is_some_and(|text| text == *wanted);
        match found {
            Value::Array(members) => members.iter().any(is_wanted),
            Value::String(words) if self.path.is_scope() => {
                words.split(' ').any(|word| word == wanted)
            }
            other => is_wanted(other),
        }
    }
}

/// Seconds since 1970, possibly with a fraction (RFC 7519 §2), in milliseconds.
fn date_ms(value: &Value) -> Option<u64> {
    let seconds = value.as_f64().filter(|seconds| (0.0..1e15).contains(seconds))?;
    Some((seconds * 1000.0) as u64)
}
