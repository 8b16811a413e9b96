//! Checks a token: its signature first, so that reasons tell of tokens that an issuer made.

use serde_json::{Map, Value};

use super::algorithm::JwtAlgorithm;
use super::claim_rules::ClaimRules;
use super::compact_token::CompactToken;
use super::key_set::{JsonWebKeySet, SignatureCheck};
use super::refusal::JwtRefusal;

#[derive(Debug)]
pub struct JwtVerifier {
    pub algorithms: Vec<JwtAlgorithm>,
    pub rules: ClaimRules,
    pub keys: JsonWebKeySet,
}

/// A token that is right.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedToken {
    pub claims: Map<String, Value>,
    /// In milliseconds since 1970.
    pub until_ms: u64,
}

impl JwtVerifier {
    /// # Errors
    /// The token lets nobody in.
    pub fn verify(&self, token: &[u8], now_ms: u64) -> Result<VerifiedToken, JwtRefusal> {
        let token = CompactToken::parse(token)?;
        if !self.algorithms.contains(&token.algorithm) {
            return Err(JwtRefusal::Algorithm);
        }
        let id = token.key_id.as_deref();
        match self.keys.check(token.algorithm, id, token.signed, &token.signature) {
            SignatureCheck::Right => {}
            SignatureCheck::Wrong => return Err(JwtRefusal::Signature),
            SignatureCheck::NoKey => return Err(JwtRefusal::UnknownKey),
        }
        let claims = token.claims().ok_or(JwtRefusal::Malformed)?;
        let until_ms = self.rules.check(&claims, now_ms)?;
        Ok(VerifiedToken { claims, until_ms })
    }
}
