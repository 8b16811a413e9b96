//! Whom a token lets in, and what servers get of it.

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
        let names = config.algorithms.iter();
        let algorithms: Vec<JwtAlgorithm> =
            names.filter_map(|name| JwtAlgorithm::from_name(name)).collect();
        let keys = JsonWebKeySet::parse(key_set, &algorithms)?;
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
        Ok(TokenUsers {
            verifier: JwtVerifier { algorithms, rules, keys },
            fields: user.chain(claims).collect(),
            proven: config.cache.map(ProvenTokens::new),
        })
    }

    /// Checks a token.
    ///
    /// # Errors
    /// It lets nobody in.
    pub fn verify(&self, token: &[u8], now_ms: u64) -> Result<ProvenToken, JwtRefusal> {
        let VerifiedToken { claims, until_ms } = self.verifier.verify(token, now_ms)?;
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
