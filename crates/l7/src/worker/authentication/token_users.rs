//! Whom a token lets in, and what servers get of it.

use std::sync::atomic::{AtomicBool, Ordering};

use credentials::jwt::algorithm::JwtAlgorithm;
use credentials::jwt::claim_path::{ClaimPath, ClaimText};
use credentials::jwt::claim_rules::{ClaimCondition, ClaimRules};
use credentials::jwt::key_set::{JsonWebKeySet, KeySetError};
use credentials::jwt::refusal::JwtRefusal;
use credentials::jwt::verifier::{JwtVerifier, VerifiedToken};
use model::config::AuthConfig;

use super::proven_tokens::{ProvenToken, ProvenTokens};

/// The claim that names the user (RFC 7519 §4.1.2).
const SUBJECT: &str = "sub";

/// Checks tokens with the keys of one reading.
#[derive(Debug)]
pub struct TokenUsers {
    verifier: JwtVerifier,
    fields: Vec<TokenField>,
    /// A token named a key that is not there.
    misses_key: AtomicBool,
    /// `None`: each token is checked.
    pub proven: Option<ProvenTokens>,
}

/// A field for servers with a claim.
#[derive(Debug)]
struct TokenField {
    name: String,
    path: ClaimPath,
    is_required: bool,
}

impl TokenUsers {
    /// With the keys of this JWK Set.
    ///
    /// # Errors
    /// The set cannot be used.
    pub fn new(config: &AuthConfig, key_set: &[u8]) -> Result<TokenUsers, KeySetError> {
        let keys = JsonWebKeySet::parse(key_set, &accepted_algorithms(config))?;
        Ok(TokenUsers::with_keys(config, keys))
    }

    /// Without keys, which are still to be fetched.
    pub fn without_keys(config: &AuthConfig) -> TokenUsers {
        TokenUsers::with_keys(config, JsonWebKeySet::default())
    }

    fn with_keys(config: &AuthConfig, keys: JsonWebKeySet) -> TokenUsers {
        let algorithms = accepted_algorithms(config);
        let rules = ClaimRules {
            issuers: config.issuer.clone(),
            audiences: config.audience.clone(),
            required: config.required_claims.iter().map(|it| ClaimCondition::parse(it)).collect(),
            leeway_ms: u64::try_from(config.leeway.as_millis()).unwrap_or(u64::MAX),
        };
        let user = config.user_field.iter().map(|name| TokenField {
            name: name.clone(),
            path: ClaimPath::new(SUBJECT),
            is_required: true,
        });
        let claims = config.claim_fields.iter().map(|it| TokenField {
            name: it.field.clone(),
            path: ClaimPath::new(&it.claim),
            is_required: false,
        });
        TokenUsers {
            verifier: JwtVerifier { algorithms, rules, keys },
            fields: user.chain(claims).collect(),
            misses_key: AtomicBool::new(false),
            proven: config.cache.map(ProvenTokens::new),
        }
    }

    pub fn has_keys(&self) -> bool {
        !self.verifier.keys.is_empty()
    }

    /// Whether a token named a key that is not there, since this was asked last.
    pub fn take_missed_key(&self) -> bool {
        self.misses_key.swap(false, Ordering::Relaxed)
    }

    /// Checks a token.
    ///
    /// # Errors
    /// It lets nobody in.
    pub fn verify(&self, token: &[u8], now_ms: u64) -> Result<ProvenToken, JwtRefusal> {
        let verified = self.verifier.verify(token, now_ms);
        if verified == Err(JwtRefusal::UnknownKey) {
            self.misses_key.store(true, Ordering::Relaxed);
        }
        let VerifiedToken { claims, until_ms } = verified?;
        let mut lines = String::new();
        for TokenField { name, path, is_required } in &self.fields {
            match path.text(&claims) {
                ClaimText::Text(text) => lines.extend([name.as_str(), ": ", text.as_str(), "\r\n"]),
                ClaimText::Absent if !is_required => {}
                // A server that misses the field could take the request for one of nobody, or of everybody.
                ClaimText::Absent | ClaimText::Unfit => return Err(JwtRefusal::Claim),
            }
        }
        Ok(ProvenToken { lines: lines.into_bytes().into(), until_ms })
    }
}

/// The accepted algorithms of an object's signatures.
pub fn accepted_algorithms(config: &AuthConfig) -> Vec<JwtAlgorithm> {
    config.algorithms.iter().filter_map(|name| JwtAlgorithm::from_name(name)).collect()
}
