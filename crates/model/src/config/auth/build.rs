//! Builds the checked configuration of authentication.

use std::path::PathBuf;

use super::key_set_url::KeySetUrl;
use super::keys::PUBLIC_KEY_ALGORITHMS;
use super::types::{AuthConfig, AuthFailureAction, AuthKind, ClaimField, RuleAuth};
use crate::config::section::ConfigSection;

/// The field of an API key if none is named.
const KEY_FIELD: &str = "X-Api-Key";

/// The field of a token if none is named (RFC 6750 §2.1).
const TOKEN_FIELD: &str = "Authorization";

pub fn build_auth(section: &ConfigSection) -> AuthConfig {
    let owned = |key: &str| section.text(key).map(str::to_owned);
    let kind = match section.text("kind") {
        Some("api-key") => AuthKind::ApiKey,
        Some("jwt") => AuthKind::Jwt,
        Some("request") => AuthKind::Request,
        _ => AuthKind::Basic,
    };
    AuthConfig {
        name: section.name.clone(),
        kind,
        file: section.text("file").map(PathBuf::from).unwrap_or_default(),
        realm: owned("realm").unwrap_or_else(|| section.name.clone()),
        header: find_credential_field(section).map(str::to_owned),
        query: owned("query"),
        user_field: owned("user-field"),
        keep_credentials: section.flag("keep-credentials"),
        cache: section.time("cache"),
        cookie: owned("cookie"),
        jwks_url: section.text("jwks-url").and_then(|text| KeySetUrl::parse(text).ok()),
        ca: section.text("ca").map(PathBuf::from),
        refresh: section.time("refresh").unwrap_or_default(),
        keep: section.time("max-stale").unwrap_or_default(),
        algorithms: match (kind, section.keywords("algorithms")) {
            (AuthKind::Jwt, []) => PUBLIC_KEY_ALGORITHMS.to_vec(),
            (_, written) => written.to_vec(),
        },
        issuer: section.texts("issuer").to_vec(),
        audience: section.texts("audience").to_vec(),
        leeway: section.time("leeway").unwrap_or_default(),
        required_claims: section.texts("required-claims").to_vec(),
        claim_fields: section.texts("claim-fields").iter().map(|line| claim_field(line)).collect(),
        pool: owned("pool"),
        path: owned("path").unwrap_or_default(),
        host: owned("host"),
        timeout: section.time("timeout").unwrap_or_default(),
        send: section.texts("request-headers").to_vec(),
        take: section.texts("response-headers").to_vec(),
        on_failure: match section.text("on-failure") {
            Some("allow") => AuthFailureAction::Allow,
            _ => AuthFailureAction::Refuse,
        },
        at_once: section.count_or_zero("max-concurrent"),
    }
}

/// The field that has the key or the token; `None`: it is elsewhere.
fn find_credential_field(section: &ConfigSection) -> Option<&str> {
    let own = section.text("header");
    let is_elsewhere = |key: &str| section.text(key).is_some();
    own.or_else(|| match section.text("kind") {
        Some("api-key") => Some(KEY_FIELD).filter(|_| !is_elsewhere("query")),
        Some("jwt") => Some(TOKEN_FIELD).filter(|_| !is_elsewhere("cookie")),
        _ => None,
    })
}

/// Fields of requests by which it is decided who may come in: those of a question are among them.
pub fn find_credential_fields(section: &ConfigSection) -> impl Iterator<Item = &str> {
    let sent = section.texts("request-headers").iter().map(String::as_str);
    let sent = sent.filter(|name| may_be_credential(name));
    find_credential_field(section).into_iter().chain(sent)
}

/// Whether a field of a question may prove who a client is.
pub fn may_be_credential(name: &str) -> bool {
    !["host", "user-agent", "referer"].iter().any(|other| name.eq_ignore_ascii_case(other))
}

fn claim_field(line: &str) -> ClaimField {
    let mut parts = line.splitn(2, ':').map(|part| part.trim().to_owned());
    ClaimField { field: parts.next().unwrap_or_default(), claim: parts.next().unwrap_or_default() }
}

/// What a rule says.
pub fn build_rule_auth(rule: &ConfigSection) -> RuleAuth {
    match rule.text("auth") {
        None => RuleAuth::Service,
        Some("off") => RuleAuth::Off,
        Some(name) => RuleAuth::Object(name.to_owned()),
    }
}
