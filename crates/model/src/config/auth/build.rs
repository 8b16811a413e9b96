//! Builds the checked configuration of authentication.

use std::path::PathBuf;

use super::types::{AuthConfig, AuthKind, RuleAuth};
use crate::config::section::ConfigSection;

/// The field of an API key if none is named.
const KEY_FIELD: &str = "X-Api-Key";

pub fn build_auth(section: &ConfigSection) -> AuthConfig {
    let owned = |key: &str| section.text(key).map(str::to_owned);
    let kind = match section.text("kind") {
        Some("api-key") => AuthKind::ApiKey,
        _ => AuthKind::Basic,
    };
    let query = owned("query");
    let header = match (kind, owned("header"), &query) {
        (AuthKind::ApiKey, None, None) => Some(KEY_FIELD.to_owned()),
        (_, header, _) => header,
    };
    AuthConfig {
        name: section.name.clone(),
        kind,
        file: section.text("file").map(PathBuf::from).unwrap_or_default(),
        realm: owned("realm").unwrap_or_else(|| section.name.clone()),
        header,
        query,
        user_field: owned("user-field"),
        keep_credentials: section.flag("keep-credentials"),
        cache: section.time("cache"),
    }
}

/// What a rule says.
pub fn build_rule_auth(rule: &ConfigSection) -> RuleAuth {
    match rule.text("auth") {
        None => RuleAuth::Service,
        Some("off") => RuleAuth::Off,
        Some(name) => RuleAuth::Object(name.to_owned()),
    }
}
