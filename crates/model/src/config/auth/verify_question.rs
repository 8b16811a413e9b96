//! Verifies authentication by a question to a server: its pool, and the fields that are sent and taken.

use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::suggestion::nearest_match;
use crate::request_head::same_name;

/// Fields of a question that we write ourselves.
const OWN_FIELDS: [&str; 6] = [
    "host",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-method",
    "x-forwarded-proto",
    "x-forwarded-uri",
];

/// Fields of an answer that servers read otherwise.
const OTHER_MEANING: [&str; 3] = ["cookie", "forwarded", "via"];

pub fn verify_question(
    object: &ConfigSection,
    effective: &EffectiveSettings,
    whole: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    if object.text("kind") != Some("request") {
        return;
    }
    let path = format!("auth.{}", quote_key(&object.name));
    if whole && !object.is_invalid("pool") {
        verify_pool_name(object, effective, &path, sink);
    }
    verify_sent(object, &path, sink);
    verify_taken(object, &path, sink);
}

fn verify_pool_name(
    object: &ConfigSection,
    effective: &EffectiveSettings,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let path = format!("{path}.pool");
    let Some(name) = object.text("pool") else {
        let trouble = FindingDetails::new("`kind = \"request\"` needs `pool`")
            .with_found("nothing")
            .with_expected("the name of a table `[pool.NAME]`");
        return sink.error(object.span, &path, trouble);
    };
    let mut names = effective.pools.iter().map(|pool| pool.name.as_str());
    if names.any(|other| other == name) {
        return;
    }
    let near = match sink.wants_suggestions() {
        true => nearest_match(name, effective.pools.iter().map(|pool| pool.name.as_str())),
        false => None,
    };
    let trouble = FindingDetails::new(format!("there is no pool `{name}`"))
        .with_expected("the name of a table `[pool.NAME]`")
        .with_suggestion(near.map(|name| format!("\"{name}\"")));
    sink.error(object.span_of("pool"), &path, trouble);
}

fn verify_sent(object: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let taken = object.texts("response-headers");
    for name in object.texts("request-headers") {
        let is_same = |other: &str| same_name(name.as_bytes(), other.as_bytes());
        let message = if OWN_FIELDS.into_iter().any(is_same) {
            format!("`{name}` is written by us")
        } else if !name.eq_ignore_ascii_case("authorization")
            && taken.iter().any(|other| is_same(other))
        {
            format!("no client may send `{name}`, which is in `response-headers`")
        } else {
            continue;
        };
        let trouble = FindingDetails::new(message).with_expected("another field");
        sink.error(object.span_of("request-headers"), &format!("{path}.request-headers"), trouble);
    }
}

fn verify_taken(object: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let taken = object.texts("response-headers");
    for (at, name) in taken.iter().enumerate() {
        let is_same = |other: &str| same_name(name.as_bytes(), other.as_bytes());
        let message = if OWN_FIELDS.into_iter().chain(OTHER_MEANING).any(is_same) {
            format!("`{name}` has another meaning")
        } else if taken.iter().take(at).any(|other| is_same(other)) {
            format!("`{name}` is written twice")
        } else {
            continue;
        };
        let trouble = FindingDetails::new(message)
            .with_expected("a field of its own, such as \"X-User\", or \"Authorization\"");
        sink.error(
            object.span_of("response-headers"),
            &format!("{path}.response-headers"),
            trouble,
        );
    }
}
