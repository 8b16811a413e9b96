//! Verifies that no field of the access log has what proves who a client is.

use super::build::find_credential_fields;
use crate::config::access_log::{AccessLogField, LogSource};
use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::request_head::{SECRET_FIELDS, same_name};

/// Refuses fields that have secrets.
pub fn verify_logged_fields(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    let Some(log) = effective.global.table("access-log") else { return };
    for name in log.texts("fields") {
        let secret = AccessLogField::parse(name)
            .and_then(|field| describe_secret(&field.source, &effective.auths));
        if let Some(secret) = secret {
            let trouble = FindingDetails::new(format!("`{name}` has {secret}"))
                .with_expected("fields and cookies that prove nothing about who sent them");
            sink.error(log.span_of("fields"), "global.access-log.fields", trouble);
        }
    }
}

/// What is secret about a field, if anything is.
fn describe_secret(source: &LogSource, auths: &[ConfigSection]) -> Option<String> {
    let is = |other: &str| {
        let own = source.request_field();
        own.is_some_and(|own| same_name(own.as_bytes(), other.as_bytes()))
    };
    let of_auth = auths.iter().find(|auth| match source {
        LogSource::Cookie(name) => auth.text("cookie") == Some(name.as_str()),
        _ => find_credential_fields(auth).any(is),
    });
    match of_auth {
        Some(auth) => Some(format!("what clients show `[auth.{}]`", quote_key(&auth.name))),
        None if SECRET_FIELDS.iter().any(|other| is(other)) => {
            Some("secrets of clients".to_owned())
        }
        None => None,
    }
}
