//! The token of a client: where it stands in the request, and whether it lets the client in.
//!
//! Signatures are checked on the worker: one costs about what a TLS handshake does. What is for none of our keys costs
//! no signature.

use std::time::{SystemTime, UNIX_EPOCH};

use credentials::jwt::refusal::JwtRefusal;
use model::cause::Cause;
use model::config::AuthConfig;
use model::request_head::{cookies, fields};
use model::stats::ServiceCounters;

use super::HttpExchange;
use crate::exchange::authentication::{
    AUTHORIZATION, AccessRefusal, COOKIE, ProvenUser, ShownCredential,
};
use crate::rt::NetDriver;
use crate::worker::authentication::proven_tokens::ProvenToken;
use crate::worker::authentication::token_users::TokenUsers;

/// A token as it came.
struct ShownToken<'h> {
    token: &'h [u8],
    credential: ShownCredential,
}

impl<N: NetDriver> HttpExchange<'_, N> {
    pub(super) fn check_token(
        &self,
        config: &AuthConfig,
        users: &TokenUsers,
    ) -> Result<ProvenUser, AccessRefusal> {
        let received = self.shown_credentials.as_ref().ok_or(Cause::Internal)?;
        let shown = find_token(&received.received, config);
        if shown.is_ok() && !users.has_keys() {
            // The token may be right: its client is asked to come again.
            return Err(Cause::AuthUnanswered.into());
        }
        let proven = shown.and_then(|shown| {
            let ProvenToken { lines, .. } = self.prove_token(users, shown.token)?;
            Ok(ProvenUser { lines, credential: shown.credential })
        });
        proven.map_err(|reason| {
            count_refusal(self.counters(), reason);
            AccessRefusal { cause: Cause::Unauthenticated, reason: Some(reason) }
        })
    }

    fn prove_token(&self, users: &TokenUsers, token: &[u8]) -> Result<ProvenToken, JwtRefusal> {
        // The clock as it is set now: it may have been wrong when the worker began.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let Some(proven) = &users.proven else { return users.verify(token, now_ms) };
        let worker = self.context.worker.index;
        let digest = proven.digest(token);
        if let Some(found) = proven.find(worker, &digest, now_ms) {
            self.counters().auth_cached.add(1);
            return Ok(found);
        }
        let verified = users.verify(token, now_ms)?;
        proven.insert(worker, digest, &verified, now_ms);
        Ok(verified)
    }
}

/// The one token in the place that the object names.
fn find_token<'h>(head: &'h [u8], config: &AuthConfig) -> Result<ShownToken<'h>, JwtRefusal> {
    if let Some(name) = &config.cookie {
        let all = fields(head, COOKIE.as_bytes());
        let token = single(all.flat_map(|line| cookies(line, name.as_bytes())))?;
        let credential = ShownCredential::Cookie { name: name.clone(), value: token.to_vec() };
        return Ok(ShownToken { token, credential });
    }
    let name = config.header.as_deref().unwrap_or(AUTHORIZATION);
    let value = single(fields(head, name.as_bytes()))?;
    let credential = ShownCredential::Field { name: name.to_owned(), value: value.to_vec() };
    let token = match bearer_token(value) {
        Some(token) => token,
        // Another scheme is no token.
        None if name.eq_ignore_ascii_case(AUTHORIZATION) => return Err(JwtRefusal::Absent),
        None => value,
    };
    Ok(ShownToken { token, credential })
}

/// Of several it is not clear which one counts.
fn single<'h>(mut values: impl Iterator<Item = &'h [u8]>) -> Result<&'h [u8], JwtRefusal> {
    let value = values.next().ok_or(JwtRefusal::Absent)?;
    match values.next() {
        None => Ok(value),
        Some(_) => Err(JwtRefusal::Malformed),
    }
}

/// What follows the scheme (RFC 6750 §2.1).
fn bearer_token(value: &[u8]) -> Option<&[u8]> {
    let scheme = value.get(..7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| value.get(7..).unwrap_or_default().trim_ascii())
}

fn count_refusal(counters: &ServiceCounters, reason: JwtRefusal) {
    let counter = match reason {
        JwtRefusal::Absent => &counters.token_absent,
        JwtRefusal::Malformed => &counters.token_malformed,
        JwtRefusal::Algorithm => &counters.token_algorithm,
        JwtRefusal::UnknownKey => &counters.token_unknown_key,
        JwtRefusal::Signature => &counters.token_signature,
        JwtRefusal::Expired => &counters.token_expired,
        JwtRefusal::NotYetValid => &counters.token_not_yet_valid,
        JwtRefusal::Issuer => &counters.token_issuer,
        JwtRefusal::Audience => &counters.token_audience,
        JwtRefusal::Claim => &counters.token_claim,
    };
    counter.add(1);
}
